"""How unevenly requests arrive, over time scales; a figure that the time step makes meaningless is None.

Definitions are those of Cox & Lewis, The Statistical Analysis of Series of Events (1966), sections 4.4 to 4.6.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads.profile.arrivals.counts import Counts, count_windows, merge_windows
from workloads.trace import NS_PER_S, TraceFacts

FANO_WINDOWS_S = (1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600)
PEAK_WINDOWS_S = (1, 10, 60)
COUNT_LAGS_S = (1, 2, 5, 10, 30, 60)
GAP_LAGS = (1, 2, 3, 4, 5)
MIN_GAP_STEPS = 2
MIN_CELLS_PER_WINDOW = 100
MIN_WINDOWS = 2
MIN_GAPS = 2
MIN_LAGS = 4
MAX_WINDOWS = 2**25


class Unevenness(NamedTuple):
    """The figures that `ArrivalProfile` publishes under the same names."""

    cv: float | None
    fano: dict[str, float | None]
    peak_over_mean: dict[str, float | None]
    count_autocorrelation: dict[str, float | None]
    gap_autocorrelation: dict[str, float | None]
    max_gap_s: float | None


def measure_unevenness(arrival_ns: NDArray[np.int64], facts: TraceFacts) -> Unevenness:
    """Measure sorted arrivals that start at 0; each window and lag of this module is a key, None where refused."""
    gaps_ns = np.diff(arrival_ns)
    seconds = count_windows(arrival_ns, NS_PER_S) if int(arrival_ns[-1]) < MAX_WINDOWS * NS_PER_S else None
    per_second = seconds if seconds is not None and resolves_window(1, facts) else None
    return Unevenness(
        cv=gap_cv(gaps_ns) if resolves_gaps(gaps_ns, facts) else None,
        fano={str(window_s): _fano(seconds, window_s, facts) for window_s in FANO_WINDOWS_S},
        peak_over_mean={str(window_s): _peak(seconds, window_s, facts) for window_s in PEAK_WINDOWS_S},
        count_autocorrelation=_autocorrelations(per_second, COUNT_LAGS_S),
        gap_autocorrelation=_autocorrelations(gaps_ns if resolves_gaps(gaps_ns, facts) else None, GAP_LAGS),
        max_gap_s=int(gaps_ns.max()) / NS_PER_S if gaps_ns.size else None,
    )


def gap_cv(gaps_ns: NDArray[np.int64]) -> float | None:
    """Return the sample standard deviation (n - 1) of gaps over their mean; None for fewer than two or all zero."""
    if gaps_ns.size < MIN_GAPS or not gaps_ns.any():
        return None
    mean_ns = gaps_ns.mean()
    apart = gaps_ns - mean_ns
    return float(np.sqrt(apart @ apart / (gaps_ns.size - 1)) / mean_ns)


def fano_factor(arrival_ns: NDArray[np.int64], window_s: float) -> float | None:
    """Return sample variance (n - 1) over mean of counts in windows laid from the first arrival.

    The last, partly covered window is left out. None for fewer than two whole windows. A Poisson process gives 1.
    """
    return dispersion(count_windows(arrival_ns, round(window_s * NS_PER_S)))


def dispersion(counts: Counts) -> float | None:
    """Return sample variance (n - 1) over mean; None for fewer than two counts or none above 0."""
    if counts.size < MIN_WINDOWS or not counts.any():
        return None
    return float(counts.var(ddof=1) / counts.mean())


def autocorrelation(values: NDArray[np.float64], lag: int) -> float | None:
    """Return the sample autocorrelation (Box & Jenkins, section 2.1.5).

    None for fewer values than four lags, or where they do not vary.
    """
    return _autocorrelations(values, (lag,))[str(lag)]


def resolves_gaps(gaps_ns: NDArray[np.int64], facts: TraceFacts) -> bool:
    """Rounding to a step r adds up to (r / mean gap)^2 / 6 to CV^2; refuse where that is not small."""
    if facts.grid_ns > facts.resolution_ns or gaps_ns.size == 0:
        return False
    return bool(gaps_ns.mean() >= MIN_GAP_STEPS * facts.grid_ns)


def resolves_window(window_s: int, facts: TraceFacts) -> bool:
    """A window of whole time steps counts exactly; on an observed, jittery grid a whole cell may change sides."""
    cells = window_s * NS_PER_S / facts.grid_ns
    return cells >= (MIN_CELLS_PER_WINDOW if facts.grid_ns > facts.resolution_ns else 1)


def _windows(seconds: Counts | None, window_s: int, facts: TraceFacts) -> Counts | None:
    if seconds is None or not resolves_window(window_s, facts) or seconds.size < MIN_WINDOWS * window_s:
        return None
    return merge_windows(seconds, window_s)


def _fano(seconds: Counts | None, window_s: int, facts: TraceFacts) -> float | None:
    counts = _windows(seconds, window_s, facts)
    return dispersion(counts) if counts is not None else None


def _peak(seconds: Counts | None, window_s: int, facts: TraceFacts) -> float | None:
    counts = _windows(seconds, window_s, facts)
    return float(counts.max() / counts.mean()) if counts is not None and counts.any() else None


def _autocorrelations(
    values: NDArray[np.float64] | NDArray[np.int64] | None, lags: tuple[int, ...]
) -> dict[str, float | None]:
    if values is None or values.size == 0:
        return dict.fromkeys(map(str, lags))
    centred = values - values.mean()
    power = float(centred @ centred)
    return {
        str(lag): float(centred[lag:] @ centred[:-lag]) / power if power > 0 and values.size >= MIN_LAGS * lag else None
        for lag in lags
    }
