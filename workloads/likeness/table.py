"""The likeness table: each trait of a trace beside that of its twin, with a limit and the noise of the making.

Noise is what twins of other seeds differ by: a trait whose noise is above the tolerance is judged by the noise, and it
is said. A twin is like its trace when every trait passes.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field, FiniteFloat

from workloads.model import Frozen

NOISE_PERCENT = 95
Kind = Literal["relative", "absolute"]
TOLERANCES: dict[str, tuple[Kind, float]] = {
    "rate, requests/s": ("relative", 0.05),
    "Fano factor at 1 s": ("relative", 0.15),
    "Fano factor at 10 s": ("relative", 0.15),
    "Fano factor at 60 s": ("relative", 0.15),
    "count autocorrelation at 1 s": ("absolute", 0.1),
    "gap CV": ("relative", 0.15),
    "input-output rank correlation": ("absolute", 0.05),
    "block reuse ratio": ("absolute", 0.02),
}
LENGTH_TOLERANCE: tuple[Kind, float] = ("relative", 0.05)
LRU_TOLERANCE: tuple[Kind, float] = ("absolute", 0.02)


class Row(Frozen):
    """One trait: what was seen, what was made, how far apart, and whether that is near enough."""

    trait: str
    seen: FiniteFloat
    made: FiniteFloat | None = Field(description="None where the twin does not support the figure")
    distance: FiniteFloat | None
    noise: FiniteFloat | None = Field(
        description="P95 of the distance between twins of other seeds and their own median"
    )
    tolerance: FiniteFloat
    kind: Kind
    passes: bool


class Likeness(Frozen):
    """All traits of a trace and one twin; `num_twins` others gave the noise."""

    rows: tuple[Row, ...]
    num_twins: int
    seed: int

    @property
    def passes(self) -> bool:
        """Say whether every trait passes."""
        return all(row.passes for row in self.rows)


def compare(
    seen: Mapping[str, float], made: Mapping[str, float], *, others: Sequence[Mapping[str, float]], seed: int
) -> Likeness:
    """Compare the figures of a trace with those of the twin of `seed`; `others` are twins of other seeds."""
    rows = tuple(_row(trait, seen[trait], made, others) for trait in seen)
    return Likeness(rows=rows, num_twins=len(others), seed=seed)


def _row(trait: str, seen: float, made: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> Row:
    kind, tolerance = _tolerance(trait)
    value = made.get(trait)
    distance = _distance(seen, value, kind) if value is not None else None
    noise = _noise([one[trait] for one in others if trait in one], kind)
    limit = max(tolerance, noise) if noise is not None else tolerance
    return Row(
        trait=trait,
        seen=seen,
        made=value,
        distance=distance,
        noise=noise,
        tolerance=tolerance,
        kind=kind,
        passes=distance is not None and distance <= limit,
    )


def _tolerance(trait: str) -> tuple[Kind, float]:
    if trait.startswith("LRU"):
        return LRU_TOLERANCE
    return TOLERANCES.get(trait, LENGTH_TOLERANCE)


def _distance(seen: float, made: float, kind: Kind) -> float:
    apart = abs(made - seen)
    return apart if kind == "absolute" or seen == 0 else apart / abs(seen)


def _noise(values: Sequence[float], kind: Kind) -> float | None:
    if len(values) < 2:  # noqa: PLR2004 - one value has no spread
        return None
    middle = float(np.median(values))
    return float(np.percentile([_distance(middle, value, kind) for value in values], NOISE_PERCENT))
