"""How long ten million requests take to make: a rate that drifts, quantile lengths that go together, no prefixes."""

import resource
import time

import numpy as np

from workloads.model import Dependence, PiecewiseArrivals, QuantileLengths, TrafficModel
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.make import make_part

NUM_REQUESTS = 10_000_000
HOURS = 24
BINS_PER_HOUR = 60
NUM_QUANTILES = 1001
BYTES_PER_KIB = 1024


def traffic_synthesis() -> dict[str, float]:
    """Return `synth_10m_s`, the number of requests made, and the process's peak memory until then, bytes."""
    model = _model()
    duration_s = HOURS * 3600.0
    began = time.perf_counter()
    part, _ = make_part(
        model, Knobs(), rate_rps=NUM_REQUESTS / duration_s, duration_s=duration_s, seed=0, rate_method="thin"
    )
    took_s = time.perf_counter() - began
    return {
        "synth_10m_s": took_s,
        "synth_10m_num_requests": len(part.requests),
        "synth_10m_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_KIB,
    }


def _model() -> TrafficModel:
    probabilities = np.linspace(0, 1, NUM_QUANTILES)
    minutes = np.arange(HOURS * BINS_PER_HOUR)
    return TrafficModel(
        arrivals=PiecewiseArrivals(bin_s=60.0, weights=tuple(1 + 0.8 * np.sin(minutes / 200)), cv=1.05),
        input_tokens=QuantileLengths(probabilities=tuple(probabilities), tokens=tuple(8 + 8000 * probabilities**3)),
        output_tokens=QuantileLengths(probabilities=tuple(probabilities), tokens=tuple(1 + 900 * probabilities**2)),
        dependence=Dependence(rank_correlation=0.3),
    )
