"""How unevenly requests arrive: gap CV and Fano factors, refused where the time step makes them meaningless."""

import numpy as np
from numpy.typing import NDArray

from workloads.profile.model import Arrivals
from workloads.trace import NS_PER_S, TraceFacts

FANO_WINDOWS_S = (1, 10, 60)
MIN_GAP_STEPS = 2
MIN_CELLS_PER_WINDOW = 100
MIN_WINDOWS = 2
MIN_GAPS = 2


def profile_arrivals(arrival_ns: NDArray[np.int64], facts: TraceFacts) -> tuple[Arrivals, tuple[str, ...]]:
    """Describe sorted arrivals, and say in words which figures are absent and why."""
    gaps_ns = np.diff(arrival_ns)
    fano = {str(window_s): _fano_or_none(arrival_ns, window_s, facts) for window_s in FANO_WINDOWS_S}
    arrivals = Arrivals(
        cv=_cv_or_none(gaps_ns, facts),
        fano=fano,
        resolution_s=facts.resolution_ns / NS_PER_S,
        grid_s=facts.grid_ns / NS_PER_S,
        max_gap_s=int(gaps_ns.max()) / NS_PER_S if gaps_ns.size else None,
    )
    return arrivals, _notes(arrivals)


def gap_cv(gaps_ns: NDArray[np.int64]) -> float | None:
    """Return the sample standard deviation (n - 1) of gaps over their mean; None for fewer than two or all zero."""
    if gaps_ns.size < MIN_GAPS or not gaps_ns.any():
        return None
    return float(gaps_ns.std(ddof=1) / gaps_ns.mean())


def fano_factor(arrival_ns: NDArray[np.int64], window_s: float) -> float | None:
    """Return sample variance (n - 1) over mean of counts in windows laid from the first arrival.

    The last, partly covered window is left out. None for fewer than two whole windows. A Poisson process gives 1.
    """
    window_ns = round(window_s * NS_PER_S)
    num_windows = int(arrival_ns[-1]) // window_ns
    if num_windows < MIN_WINDOWS:
        return None
    counts = np.bincount(arrival_ns // window_ns, minlength=num_windows)[:num_windows]
    return float(counts.var(ddof=1) / counts.mean())


def _cv_or_none(gaps_ns: NDArray[np.int64], facts: TraceFacts) -> float | None:
    """Rounding to a step r adds up to (r / mean gap)^2 / 6 to CV^2; refuse where that is not small."""
    if facts.grid_ns > facts.resolution_ns or gaps_ns.size == 0:
        return None
    return gap_cv(gaps_ns) if gaps_ns.mean() >= MIN_GAP_STEPS * facts.grid_ns else None


def _fano_or_none(arrival_ns: NDArray[np.int64], window_s: int, facts: TraceFacts) -> float | None:
    """A window of whole time steps counts exactly; on an observed, jittery grid a whole cell may change sides."""
    cells = window_s * NS_PER_S / facts.grid_ns
    needed = MIN_CELLS_PER_WINDOW if facts.grid_ns > facts.resolution_ns else 1
    return fano_factor(arrival_ns, window_s) if cells >= needed else None


def _notes(arrivals: Arrivals) -> tuple[str, ...]:
    step = f"arrivals lie on a step of {arrivals.grid_s:g} s"
    notes = []
    if arrivals.cv is None:
        notes.append(f"no gap CV: {step}, or there are too few gaps")
    absent = [f"{window} s" for window, value in arrivals.fano.items() if value is None]
    if absent:
        notes.append(f"no Fano factor for windows of {', '.join(absent)}: {step}, or the trace is too short")
    return tuple(notes)
