"""How much of a window's start is still transient, whether what follows drifts, whether the load outgrew the server.

The figures of a measurement stay over the whole window; what is found here is said beside them.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.domain.steadiness import Steadiness
from orchestrator.metrics import latency
from orchestrator.metrics.saturation import is_given_up, outgrown_at_s
from orchestrator.metrics.trend import kendall_p_value

MIN_REQUESTS = 30
MSER_BATCH = 5
MSER_SLACK = 1.1  # of the least squared standard error: so near, a cut is as good as the best
TRANSIENT_Z = 3.5  # the cut is chosen where it differs most, so its difference must be larger than a chance one
FALSE_ALARMS = 0.05  # of a steady window, over both series together
MAX_BATCHES, MIN_BATCHES = 10, 5
CORRELATION_TIMES = 5.0  # in a batch, so that neighbouring batch means are nearly independent

Floats = NDArray[np.float64]


def steadiness(log: ReplayLog, issued: Sequence[RequestRecord]) -> Steadiness:
    """Search the requests issued in a window for a transient at its start and for a drift after it.

    TTFT and E2E of completed requests, both from intended arrival. The transient ends where the later of the two cuts
    lies; the drift is looked for behind it, in both. None below 30 completed requests, or where they hang together so
    closely that the window holds too few independent stretches to tell. A load that outgrew its server has no steady
    part.
    """
    outgrown_s = outgrown_at_s(log)
    given_up = log.early_stop if is_given_up(log) else None
    timed = [(one.intended_ns, *pair) for one in issued if (pair := _latencies_s(one)) is not None]
    if outgrown_s is not None:
        return Steadiness(is_steady=False, transient_s=None, oversaturated_at_s=outgrown_s, given_up=given_up)
    if len(timed) < MIN_REQUESTS:
        return Steadiness(is_steady=None, transient_s=None)
    ttfts_s, e2es_s = np.array([row[1:] for row in timed], dtype=np.float64).T
    cut = max(transient(ttfts_s), transient(e2es_s))
    transient_s = (timed[cut][0] - log.window.start_ns) / NS_PER_S if cut else 0.0
    return Steadiness(is_steady=_is_driftless(ttfts_s[cut:], e2es_s[cut:]), transient_s=transient_s)


def _latencies_s(record: RequestRecord) -> tuple[float, float] | None:
    ttft_s, e2e_s = latency.ttft_from_intended_s(record), latency.e2e_from_intended_s(record)
    return None if ttft_s is None or e2e_s is None else (ttft_s, e2e_s)


def _is_driftless(*series: Floats) -> bool | None:
    p_values = [drift_p_value(one) for one in series]
    if any(one is not None and one < FALSE_ALARMS / len(series) for one in p_values):
        return False
    return None if None in p_values else True


def transient(values: Floats) -> int:
    """Return how many values at the start belong to a transient; 0 where the start does not differ from the rest.

    MSER-5: of the means of consecutive batches of five, as many are cut, at most half, as makes the standard error of
    the rest's mean least; the fewest that come near that, since behind a transient all cuts are about as good. It cuts
    noise too, so a cut counts only where the mean before it differs from the mean behind it by more than the rest's
    own variance and correlation time let expect.
    Source: White (1997), Simulation 69; Franklin & White (2008), Winter Simulation Conference.
    """
    means = _batch_means(values, MSER_BATCH)
    errors = _tail_errors(means)[: len(means) // 2 + 1]
    cut = int(np.argmax(errors <= MSER_SLACK * errors.min()))
    if cut == 0:
        return 0
    head, rest = means[:cut], means[cut:]
    variance = rest.var(ddof=1) * correlation_time(rest)
    error = math.sqrt(variance * (1 / len(head) + 1 / len(rest)))
    difference = abs(float(head.mean() - rest.mean()))
    return cut * MSER_BATCH if difference > TRANSIENT_Z * error else 0


def drift_p_value(values: Floats) -> float | None:
    """Return the two-sided p-value of Mann-Kendall's test on batch means; None where fewer than five batches are left.

    A batch is five correlation times long at least, that of the values less their straight line, so that batch means
    are nearly independent, and there are ten at most.
    Source: Mann (1945), Econometrica 13; Kendall (1975); batch means: Law & Kelton, Simulation Modeling, chapter 9.
    """
    if values.max() == values.min():
        return 1.0
    places = np.arange(len(values))
    residuals = values - np.polyval(np.polyfit(places, values, 1), places)
    batches = min(MAX_BATCHES, int(len(values) / (CORRELATION_TIMES * correlation_time(residuals))))
    if batches < MIN_BATCHES:
        return None
    means = [float(part.mean()) for part in np.array_split(values, batches)]
    return kendall_p_value(means)


def correlation_time(values: Floats) -> float:
    """Return how many consecutive values tell as much as one independent value, 1 at least.

    One plus twice the autocorrelations up to where the sum of two that follow each other is no longer positive.
    Source: Geyer (1992), Statistical Science 7, section 3.3, initial positive sequence.
    """
    centred = values - values.mean()
    power = float(centred @ centred)
    if power <= 0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * len(centred))  # padded, so that the ends do not meet
    correlations = np.fft.irfft(spectrum * spectrum.conj())[: len(centred) // 2 * 2] / power
    pairs = correlations.reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    total = 2 * float(pairs[: negative[0] if negative.size else None].sum()) - 1
    return max(1.0, total)


def _tail_errors(means: Floats) -> Floats:
    """Return, for each place but the last, the squared standard error of the mean of the values from there on."""
    centred = means - means.mean()
    left = np.arange(len(means), 0, -1)
    sums, squares = np.cumsum(centred[::-1])[::-1], np.cumsum((centred**2)[::-1])[::-1]
    errors: Floats = np.maximum(squares - sums**2 / left, 0) / left**2
    return errors


def _batch_means(values: Floats, size: int) -> Floats:
    whole = len(values) // size * size
    means: Floats = values[:whole].reshape(-1, size).mean(axis=1)
    return means
