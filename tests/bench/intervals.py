"""How often 95 % intervals hold the truth: dependent latencies and throughputs of known law, simulated many times.

Latencies: standard lognormal values whose normal scores are an AR(1) process of coefficient 0.9. Requests per second:
one server works off requests one after another, each taking such a latency; its completions in a window are counted.
Output tokens per second: Poisson arrivals, each putting out an amount of tokens that follows the same process.
"""

import json
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import ndtri

from orchestrator.domain.distribution import Interval
from orchestrator.domain.records import Window
from orchestrator.metrics.intervals.rates import rate_interval
from orchestrator.metrics.intervals.series import series_distribution

PHI = 0.9
RUNS = 500
SIZES = (1_000, 5_000, 20_000)
MEAN = float(np.exp(0.5))  # of the standard lognormal
FIGURES = ("p50", "p99", "requests_per_s", "output_tokens_per_s")  # those that the promise names; the rest are shown
PARTS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
BURN_IN = 200
NS = 10**9

Floats = NDArray[np.float64]


def scores(n: int, phi: float, generator: np.random.Generator) -> Floats:
    """Draw n values of a stationary AR(1) process with standard normal margin."""
    noise = generator.standard_normal(n) * np.sqrt(1 - phi**2)
    noise[0] = generator.standard_normal()
    return np.asarray(lfilter([1.0], [1.0, -phi], noise), dtype=np.float64)


def latencies(
    n: int, phi: float, generator: np.random.Generator, *, margin: Callable[[Floats], Floats] = np.exp
) -> dict[str, tuple[Interval | None, float]]:
    """Give interval and truth of the percentiles and, for lognormal values, of the mean of n dependent latencies."""
    found = series_distribution(margin(scores(n, phi, generator))).intervals
    truths = {part: float(margin(np.array([ndtri(p)]))[0]) for part, p in PARTS.items()}
    judged = {part: (found.get(part), truth) for part, truth in truths.items()}
    return judged | ({"mean": (found.get("mean"), MEAN)} if margin is np.exp else {})


def throughputs(n: int, phi: float, generator: np.random.Generator) -> dict[str, tuple[Interval | None, float]]:
    """Give interval and truth of requests and of tokens per second, n requests expected in the window."""
    start, end = BURN_IN * MEAN, (BURN_IN + n) * MEAN
    window = Window(round(start * NS), round(end * NS))
    ended = np.cumsum(np.exp(scores(2 * n + 4 * BURN_IN, phi, generator)))
    arrived = np.sort(generator.uniform(start, end, generator.poisson(n)))
    tokens = np.exp(scores(arrived.size, phi, generator))
    times = {"requests_per_s": ended, "output_tokens_per_s": arrived}
    weights = {"requests_per_s": None, "output_tokens_per_s": tokens}
    truths = {"requests_per_s": 1 / MEAN, "output_tokens_per_s": 1.0}
    return {
        name: (
            rate_interval((at * NS).astype(np.int64), weights[name], window, requests=_inside(at, start, end)),
            truths[name],
        )
        for name, at in times.items()
    }


def coverage(
    runs: int, draw: Callable[[np.random.Generator], dict[str, tuple[Interval | None, float]]]
) -> dict[str, tuple[float | None, float]]:
    """Return, of each figure, the share of given intervals that hold the truth, and the share withheld."""
    held: dict[str, list[bool]] = {}
    for seed in range(runs):
        for name, (interval, truth) in draw(np.random.default_rng([seed, 42])).items():
            seen = held.setdefault(name, [])
            if interval is not None:
                seen.append(interval.low <= truth <= interval.high)
    return {name: (float(np.mean(seen)) if seen else None, 1 - len(seen) / runs) for name, seen in held.items()}


def interval_coverage(runs: int = RUNS, sizes: tuple[int, ...] = SIZES) -> dict[str, float]:
    """Return `interval_coverage_ratio`, the worst of the promised ones, and each coverage and withheld share."""
    table: dict[str, float] = {}
    promised: list[float] = []
    for n in sizes:
        found = coverage(runs, lambda one, n=n: latencies(n, PHI, one) | throughputs(n, PHI, one))
        for name, (covered, withheld) in found.items():
            table[f"interval_withheld_{name}_{n}_ratio"] = withheld
            if covered is not None:
                table[f"interval_coverage_{name}_{n}_ratio"] = covered
                promised.extend([covered] if name in FIGURES else [])
    return {"interval_coverage_ratio": max(promised, key=lambda one: abs(one - 0.95)), **table}


def _inside(times: Floats, start: float, end: float) -> int:
    return int(np.count_nonzero((times >= start) & (times < end)))


if __name__ == "__main__":
    chosen = tuple(int(size) for size in sys.argv[1:]) or SIZES
    sys.stdout.write(json.dumps(interval_coverage(sizes=chosen), indent=2) + "\n")
