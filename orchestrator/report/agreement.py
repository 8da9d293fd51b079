"""Whether the candidates of a study serve the same model, as sentences and rows: their greedy answers compared."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from orchestrator.analysis.agreement import Difference, PairAgreement, Side, compare_answers
from orchestrator.domain.agreement import GREEDY, GREEDY_ERROR, MAX_TOKENS, PROMPTS, GreedyAnswer, from_text
from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.report.numbers import MISSING, percent

DIFFERENCE_HEADS = ("prompt", "token", "first difference: what it took", "its own probability, the other's", "near tie")
TIES = {True: "yes", False: "no", None: MISSING}
MIN_CANDIDATES = 2


class AgreementText(NamedTuple):
    """What the comparison says: sentences, and one row a first difference in the order of DIFFERENCE_HEADS."""

    sentences: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def agreements(record: StudyRecord) -> tuple[PairAgreement, ...]:
    """Compare the candidates pair by pair; empty where fewer than two have answers."""
    return compare_answers(_answers(record))


def agreement_text(record: StudyRecord) -> AgreementText | None:
    """Spell the comparison; None where fewer than two candidates have answers."""
    pairs = agreements(record)
    if not pairs:
        return None
    rows = tuple(_row(one) for pair in pairs for one in pair.differences)
    return AgreementText((*(pair.text for pair in pairs), *_unasked(record)), rows)


def agreement_summary(record: StudyRecord) -> list[dict[str, Any]] | None:
    """Return the comparison as data; None where fewer than two candidates have answers."""
    return [_pair(one) for one in agreements(record)] or None


def how_asked() -> str:
    """Say what was asked."""
    return (
        f"Before its defaults were measured, each candidate was asked for the likeliest {MAX_TOKENS} tokens behind "
        f"{len(PROMPTS)} fixed prompts. Equal weights agree up to where rounding decides between two tokens."
    )


def _defaults(record: StudyRecord) -> Iterator[TrialRecord]:
    return (one for one in record.trials if one.trial.number == 0)


def _answers(record: StudyRecord) -> dict[str, tuple[GreedyAnswer, ...]]:
    return {one.trial.label: from_text(one.facts[GREEDY]) for one in _defaults(record) if GREEDY in one.facts}


def _unasked(record: StudyRecord) -> Iterator[str]:
    for one in _defaults(record):
        if GREEDY_ERROR in one.facts:
            yield f"{one.trial.label} is not compared: {one.facts[GREEDY_ERROR]}."


def _row(one: Difference) -> tuple[str, ...]:
    sides = (one.left, one.right)
    return (
        _prompt(one.prompt),
        str(one.position + 1),
        "; ".join(f"{side.candidate}: {_token(side)}" for side in sides),
        "; ".join(f"{side.candidate}: {_probabilities(side)}" for side in sides),
        TIES[one.is_near_tie],
    )


def _prompt(index: int) -> str:
    return PROMPTS[index] if index < len(PROMPTS) else f"prompt {index}"


def _token(side: Side) -> str:
    return "the end" if side.token is None else repr(side.token)


def _probabilities(side: Side) -> str:
    if side.own_probability is None and side.other_probability is None:
        return "not told"
    return f"{percent(side.own_probability)}, {percent(side.other_probability)}"


def _pair(pair: PairAgreement) -> dict[str, Any]:
    return {
        "candidates": [pair.left, pair.right],
        "num_compared": pair.num_compared,
        "num_equal": pair.num_equal,
        "text": pair.text,
        "differences": [_difference(one) for one in pair.differences],
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "prompt": _prompt(one.prompt),
        "position": one.position,
        "is_near_tie": one.is_near_tie,
        "sides": [side._asdict() for side in (one.left, one.right)],
    }
