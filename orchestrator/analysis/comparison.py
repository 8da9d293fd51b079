"""The best configuration beside the defaults. A ratio of two single measurements; claims no significance."""

from collections.abc import Mapping
from typing import NamedTuple

from orchestrator.analysis.curve import Objective, rank
from orchestrator.domain.outcome import Completed, TrialOutcome

DEFAULTS = 0


class Comparison(NamedTuple):
    """What the best trial scored against the defaults; `ratio` is None where the defaults scored 0."""

    best_number: int
    best_score: float
    defaults_score: float
    ratio: float | None
    text: str


def compare_to_defaults(outcomes: Mapping[int, TrialOutcome], objective: Objective) -> Comparison | None:
    """Compare the best completed trial to trial 0; None where the defaults were not measured to the end."""
    defaults = outcomes.get(DEFAULTS)
    if not isinstance(defaults, Completed):
        return None
    best = rank(outcomes)[0]
    ratio = best.score / defaults.score if defaults.score > 0 else None
    text = _text(best.number, ratio, objective, best_score=best.score, defaults_score=defaults.score)
    return Comparison(best.number, best.score, defaults.score, ratio, text)


def _text(number: int, ratio: float | None, objective: str, *, best_score: float, defaults_score: float) -> str:
    if number == DEFAULTS:
        return f"No configuration scored above the defaults' {objective} of {defaults_score:.3g}."
    figures = f"{best_score:.3g} against {defaults_score:.3g} {objective}"
    times = "" if ratio is None else f", {ratio:.2f} times the defaults"
    return (
        f"Trial {number} scored {figures}{times}, each measured once. The best of several noisy trials flatters "
        "itself: whether the difference is real was not tested."
    )
