"""How far candidates agree in their greedy answers: pair by pair, with the first difference of each prompt.

Equal answers prove little beyond these prompts; a first difference at a near tie is what rounding alone does.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from orchestrator.domain.agreement import MAX_TOKENS, GreedyAnswer

# Logits of 16 to 32 in bfloat16 lie 0.125 apart; each of two may be off by that, and 0.01 is lost in the record.
NEAR_TIE_NATS = 0.265
ANOTHER_MODEL_RATIO = 0.5


class Side(NamedTuple):
    """One candidate at a first difference; `token` None is the end of its answer.

    The probabilities, 0 to 1, are its own: of its token, of the other's; None where it does not tell.
    """

    candidate: str
    token: str | None
    own_probability: float | None
    other_probability: float | None


class Difference(NamedTuple):
    """Where two answers to one prompt part; `position` counts from 0.

    `is_near_tie`: whether everybody who tells the probabilities of both tokens finds them nearly equal; None where
    nobody tells both.
    """

    prompt: int
    position: int
    left: Side
    right: Side
    is_near_tie: bool | None


class PairAgreement(NamedTuple):
    """How far two candidates agree; `num_compared` prompts were answered by both.

    On `num_recounted` of them the engines count the prompt's tokens differently.
    """

    left: str
    right: str
    num_compared: int
    differences: tuple[Difference, ...]
    num_recounted: int

    @property
    def num_equal(self) -> int:
        """Count the prompts whose answers are equal in all tokens that were asked for."""
        return self.num_compared - len(self.differences)

    @property
    def text(self) -> str:
        """Say it in a sentence."""
        return f"{self.left} and {self.right} agree on {self.num_equal} of {self.num_compared} prompts{self._parts()}."

    def _parts(self) -> str:
        told = (self._another_model() or self._ties(), self._recounted())
        return "".join(f"; {one}" for one in told if one)

    def _another_model(self) -> str | None:
        at_once = sum(one.position == 0 and not one.is_near_tie for one in self.differences)
        if not at_once or at_once < ANOTHER_MODEL_RATIO * self.num_compared:
            return None
        return f"they differ from the first token on {at_once} prompts: probably not the same model or tokenizer"

    def _ties(self) -> str | None:
        if not self.differences:
            return None
        ties = [one.is_near_tie for one in self.differences]
        return (
            f"of the {len(ties)} first differences, rounding decided {ties.count(True)} (near ties), it did not "
            f"decide {ties.count(False)}, and {ties.count(None)} are without known probabilities"
        )

    def _recounted(self) -> str | None:
        if not self.num_recounted:
            return None
        return f"they count the tokens of {self.num_recounted} prompts differently: a start token, or another tokenizer"


def compare_answers(answers: Mapping[str, Sequence[GreedyAnswer]]) -> tuple[PairAgreement, ...]:
    """Compare every two candidates on the prompts that both answered."""
    return tuple(_compare(left, right, answers) for left, right in combinations(answers, 2))


def _compare(left: str, right: str, answers: Mapping[str, Sequence[GreedyAnswer]]) -> PairAgreement:
    theirs = {one.prompt: one for one in answers[right]}
    pairs = [(one, theirs[one.prompt]) for one in answers[left] if one.prompt in theirs]
    found = (_first_difference((left, ours), (right, other)) for ours, other in pairs)
    return PairAgreement(
        left=left,
        right=right,
        num_compared=len(pairs),
        differences=tuple(one for one in found if one is not None),
        num_recounted=sum(_is_recounted(ours, other) for ours, other in pairs),
    )


def _is_recounted(ours: GreedyAnswer, theirs: GreedyAnswer) -> bool:
    counts = (ours.prompt_tokens, theirs.prompt_tokens)
    return None not in counts and counts[0] != counts[1]


def _first_difference(left: tuple[str, GreedyAnswer], right: tuple[str, GreedyAnswer]) -> Difference | None:
    ours, theirs = left[1].ids[:MAX_TOKENS], right[1].ids[:MAX_TOKENS]
    if ours == theirs:
        return None
    shared = min(len(ours), len(theirs))
    position = next((at for at in range(shared) if ours[at] != theirs[at]), shared)
    sides = (_side(*left, right[1], position), _side(*right, left[1], position))
    return Difference(left[1].prompt, position, *sides, is_near_tie=_is_near_tie(sides))


def _side(candidate: str, own: GreedyAnswer, other: GreedyAnswer, position: int) -> Side:
    top = own.top[position] if own.top is not None and position < len(own.top) else {}
    token = own.tokens[position] if position < len(own.tokens) else None
    taken, refused = _taken(own, position), _taken(other, position)
    return Side(candidate, token, _probability(top, taken), _probability(top, refused))


def _taken(answer: GreedyAnswer, position: int) -> int | None:
    """Return the token's id; behind an answer's end that of the end token, which is then the likeliest."""
    if position < len(answer.ids):
        return answer.ids[position]
    if answer.top is None or position >= len(answer.top) or not answer.top[position]:
        return None
    top = answer.top[position]
    return max(top, key=lambda token: top[token])


def _probability(top: Mapping[int, float], token: int | None) -> float | None:
    return math.exp(top[token]) if token is not None and token in top else None


def _is_near_tie(sides: tuple[Side, Side]) -> bool | None:
    gaps = [
        abs(math.log(side.own_probability / side.other_probability))
        for side in sides
        if side.own_probability and side.other_probability
    ]
    return all(gap < NEAR_TIE_NATS for gap in gaps) if gaps else None
