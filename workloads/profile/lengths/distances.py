"""How far a family is from the lengths: largest distance, and one that weighs the tails. Caps are left out of both."""

import numpy as np

from workloads.model.families import Values
from workloads.profile.lengths.intervals import Intervals


def measure_ks(intervals: Intervals, shares: Values) -> float:
    """Return the Kolmogorov-Smirnov distance at the intervals' edges, for a family's shares of them."""
    return float(np.abs(_gaps(intervals, shares)).max(initial=0.0))


def measure_ad(intervals: Intervals, shares: Values) -> float | None:
    """Return the Anderson-Darling distance: A^2 for grouped data over the number of requests.

    Choulakian, Lockhart and Stephens 1994, section 2. None where the family leaves no lengths on one side of an edge
    though requests lie there.
    """
    reached = np.cumsum(shares)[:-1]
    gaps, weight = _gaps(intervals, shares), reached * (1 - reached)
    is_flat = weight <= 0
    if np.any(is_flat & (gaps != 0)):
        return None
    return float(np.sum(gaps[~is_flat] ** 2 * shares[:-1][~is_flat] / weight[~is_flat]))


def _gaps(intervals: Intervals, shares: Values) -> Values:
    return np.asarray(np.cumsum(intervals.requests / intervals.total)[:-1] - np.cumsum(shares)[:-1])
