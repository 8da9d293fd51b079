"""The figures by which two traces are compared: the profile's own, without fits and verdicts.

A figure that a trace does not support is left out, never 0.
"""

import numpy as np
from scipy import stats

from workloads.profile.arrivals.counts import count_windows
from workloads.profile.arrivals.unevenness import (
    autocorrelation,
    fano_factor,
    gap_cv,
    resolves_gaps,
    resolves_window,
)
from workloads.profile.reuse.hits import previous_positions
from workloads.profile.reuse.lru import NAMED_CAPACITIES_TOKENS, measure_lru
from workloads.trace import NS_PER_S, Trace

PERCENTS = (50, 90, 99)
FANO_WINDOWS_S = (1, 10, 60)


def measure(trace: Trace) -> dict[str, float]:
    """Measure every figure that the trace supports, by name."""
    found = {**_lengths(trace), **_arrivals(trace), **_sharing(trace)}
    return {name: float(value) for name, value in found.items() if value is not None and np.isfinite(value)}


def _lengths(trace: Trace) -> dict[str, float | None]:
    answered = trace.answered()
    found: dict[str, float | None] = {}
    for side, tokens in (("input", answered.input_tokens), ("output", answered.output_tokens)):
        if tokens.size:
            values = np.percentile(tokens, PERCENTS)
            found |= {f"{side} tokens P{at}": float(value) for at, value in zip(PERCENTS, values, strict=True)}
    if len(answered) > 1:
        found["input-output rank correlation"] = float(
            stats.spearmanr(answered.input_tokens, answered.output_tokens).statistic
        )
    return found


def _arrivals(trace: Trace) -> dict[str, float | None]:
    times, facts = trace.arrival_ns, trace.facts
    found: dict[str, float | None] = {}
    if trace.span_ns:
        found["rate, requests/s"] = (len(trace) - 1) * NS_PER_S / trace.span_ns
    for window_s in FANO_WINDOWS_S:
        if resolves_window(window_s, facts):
            found[f"Fano factor at {window_s} s"] = fano_factor(times, window_s)
    if resolves_window(1, facts):
        counts = count_windows(times, NS_PER_S).astype(np.float64)
        found["count autocorrelation at 1 s"] = autocorrelation(counts, 1)
    gaps = np.diff(times)
    if resolves_gaps(gaps, facts):
        found["gap CV"] = gap_cv(gaps)
    return found


def _sharing(trace: Trace) -> dict[str, float | None]:
    blocks, block_tokens = trace.block_ids, trace.facts.block_tokens
    if blocks is None or block_tokens is None or blocks.values.size == 0:
        return {}
    found: dict[str, float | None] = {
        f"LRU block hit ratio at {point.capacity_tokens / 1e6:g} M tokens": point.block_hit_ratio
        for point in measure_lru(blocks, block_tokens).points
        if point.capacity_tokens in NAMED_CAPACITIES_TOKENS
    }
    return {**found, "block reuse ratio": float((previous_positions(blocks.values) >= 0).mean())}
