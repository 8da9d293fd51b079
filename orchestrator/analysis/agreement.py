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
HOW_THEY_PART = {
    True: "at a near tie",
    False: "where it was no near tie",
    None: "where the probabilities are not known",
}


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

    `is_near_tie`: whether each candidate, as far as it tells, finds both tokens nearly as likely; None: none tells.
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
        ties = [one.is_near_tie for one in self.differences]
        kinds = ((count, how) for key, how in HOW_THEY_PART.items() if (count := ties.count(key)))
        told = ", ".join(f"{count} part {how}" for count, how in kinds)
        return f"of the {len(ties)} that differ, {told}" if ties else None

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
    leads = (_lead(left[1], right[1], position), _lead(right[1], left[1], position))
    known = [one for one in leads if one is not None]
    is_near_tie = all(abs(one) < NEAR_TIE_NATS for one in known) if known else None
    return Difference(left[1].prompt, position, *sides, is_near_tie=is_near_tie)


def _side(candidate: str, own: GreedyAnswer, other: GreedyAnswer, position: int) -> Side:
    top = _top(own, position)
    token = own.tokens[position] if position < len(own.tokens) else None
    taken, refused = _taken(own, position), _taken(other, position)
    return Side(candidate, token, _probability(top, taken), _probability(top, refused))


def _lead(own: GreedyAnswer, other: GreedyAnswer, position: int) -> float | None:
    """Return by how many nats a candidate's token is ahead of the other's in its own eyes.

    A token that is not among the likeliest is at most as likely as the last of them: enough where that is far behind.
    """
    top = _top(own, position)
    taken, refused = _taken(own, position), _taken(other, position)
    if taken is None or taken not in top or refused is None:
        return None
    lead = top[taken] - top.get(refused, min(top.values()))
    return lead if refused in top or lead >= NEAR_TIE_NATS else None


def _taken(answer: GreedyAnswer, position: int) -> int | None:
    """Return the token's id; behind an answer's end that of the end token, which is then the likeliest."""
    if position < len(answer.ids):
        return answer.ids[position]
    top = _top(answer, position)
    return max(top, key=lambda token: top[token]) if top else None


def _top(answer: GreedyAnswer, position: int) -> Mapping[int, float]:
    return answer.top[position] if answer.top is not None and position < len(answer.top) else {}


def _probability(top: Mapping[int, float], token: int | None) -> float | None:
    return math.exp(top[token]) if token is not None and token in top else None
