"""The grid on which a trace's arrivals lie, found from the arrivals themselves.

Some traces are coarser than their format: Mooncake writes milliseconds, yet its requests share instants 3 s apart.
"""

import numpy as np
from numpy.typing import NDArray

MIN_INSTANTS = 4
MIN_REQUESTS_PER_INSTANT = 2.0
MIN_STEPS = 10
MIN_SHARE_ON_GRID = 0.99


def find_grid_ns(arrival_ns: NDArray[np.int64], resolution_ns: int) -> int:
    """Return the step of the grid on which sorted arrivals lie, `resolution_ns` where no coarser one shows.

    A coarser grid is one that carries two requests an instant at the mean, whose instants lie, to within
    one resolution step, on multiples of their median distance.
    """
    is_new = arrival_ns[1:] != arrival_ns[:-1]
    num_instants = 1 + int(np.count_nonzero(is_new))
    if num_instants < MIN_INSTANTS or len(arrival_ns) < MIN_REQUESTS_PER_INSTANT * num_instants:
        return resolution_ns
    gaps = np.diff(arrival_ns[np.concatenate([[0], 1 + np.flatnonzero(is_new)])])
    step = int(np.median(gaps))
    if step < MIN_STEPS * resolution_ns:
        return resolution_ns
    distance = np.abs(gaps - np.rint(gaps / step).astype(np.int64) * step)
    is_grid = np.mean(distance <= resolution_ns) >= MIN_SHARE_ON_GRID
    return step if is_grid else resolution_ns
