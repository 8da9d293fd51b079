"""Telemetry: named series over time on the replay's clock."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Series:
    """One series: times in nanoseconds of the monotonic clock, values in `unit`; a gap is an absent sample."""

    name: str
    unit: str
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Everything sampled during one deployment; `notes` say what could not be read and why."""

    series: tuple[Series, ...]
    interval_s: float
    notes: tuple[str, ...] = ()

    def get(self, name: str) -> Series | None:
        """Return the series of that name, None where it was not sampled."""
        return next((one for one in self.series if one.name == name), None)
