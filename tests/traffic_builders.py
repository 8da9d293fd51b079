"""Traces and profiles made by hand, for tests of what is drawn and said of them."""

from typing import Any

import numpy as np
import polars as pl

from workloads.model import PiecewiseArrivals, QuantileLengths
from workloads.profile.arrivals.model import ArrivalProfile, ChangePoint, Evidence, Peak, Spectrum, Verdict
from workloads.profile.lengths.model import Cap, DependenceProfile, Fit, LengthDistribution, Lengths, Tail
from workloads.profile.model import TraceProfile, Trait
from workloads.profile.people.model import Client, ClientProfile, Concurrency, Quantiles, SessionProfile
from workloads.profile.reuse.model import LruPoint, Prefix
from workloads.trace import NS_PER_S, Trace, TraceFacts

NUM_REQUESTS = 2000
SPAN_S = 1000.0


def a_trace(num_requests: int = NUM_REQUESTS, **columns: Any) -> Trace:
    """Draw lognormal lengths and Poisson arrivals over 1000 s, the last one at their end."""
    draw = np.random.default_rng(7)
    arrivals = np.sort(draw.uniform(0, SPAN_S, num_requests))
    arrivals[0], arrivals[-1] = 0, SPAN_S
    rows = pl.DataFrame(
        {
            "arrival_ns": (arrivals * NS_PER_S).astype(np.int64),
            "input_tokens": draw.lognormal(6, 1, num_requests).round().clip(1, 4000).astype(np.int32),
            "output_tokens": draw.lognormal(4, 1, num_requests).round().clip(0, 900).astype(np.int32),
            "is_failed": np.zeros(num_requests, dtype=bool),
            **columns,
        }
    )
    return Trace(rows, TraceFacts(format="by hand", source="by hand.csv", resolution_ns=1, grid_ns=1))


def a_distribution(**changes: Any) -> LengthDistribution:
    """Describe 2000 lengths: two fits, a cap at 4000, no power law."""
    given: dict[str, Any] = {
        "num_requests": NUM_REQUESTS,
        "quantiles": QuantileLengths(probabilities=(0, 0.5, 0.9, 0.99, 1), tokens=(1, 400, 1450, 4000, 4000)),
        "caps": (Cap(tokens=4000, num_requests=22, share=0.011),),
        "fits": (
            Fit(
                family="lognormal",
                parameters={"mu": 6.0, "sigma": 1.0},
                log_likelihood=-14000,
                aic=28004,
                ks=0.02,
                ad=1.5,
                bootstrap_p=0.3,
            ),
            Fit(
                family="exponential",
                parameters={"mean": 650.0},
                log_likelihood=-15000,
                aic=30002,
                ks=0.1,
                ad=None,
                bootstrap_p=None,
            ),
        ),
        "tail": Tail(
            is_power_law="no",
            x_min=900,
            alpha=2.9,
            num_tail=300,
            log_likelihood_ratio=-4.0,
            p=0.0001,
            reason="the lognormal is likelier above 900 tokens",
        ),
        "num_fitted": NUM_REQUESTS,
        "notes": (),
    }
    return LengthDistribution(**(given | changes))


def an_arrival_profile(**changes: Any) -> ArrivalProfile:
    """Describe arrivals whose rate doubled after 600 s."""
    given: dict[str, Any] = {
        "cv": 1.05,
        "fano": {"1": 1.1, "10": 2.0, "60": 6.5, "600": None},
        "peak_over_mean": {"1": 4.0, "10": 2.1, "60": 1.6},
        "count_autocorrelation": {"1": 0.11, "10": 0.09},
        "gap_autocorrelation": {"1": 0.01},
        "resolution_s": 1e-9,
        "grid_s": 1e-9,
        "max_gap_s": 4.2,
        "verdict": Verdict(
            kind="drifting poisson",
            sentence="A Poisson process whose rate drifts.",
            evidence=(Evidence(name="cv_in_minutes", value=1.01, says="gaps within a minute are exponential"),),
            model=None,
        ),
        "change_points": (ChangePoint(at_s=600, rate_before_rps=1.4, rate_after_rps=2.9),),
        "curve": PiecewiseArrivals(bin_s=100, weights=(1, 1, 1, 1, 1, 1, 2, 2, 2, 2)),
    }
    return ArrivalProfile(**(given | changes))


def a_spectrum(**changes: Any) -> Spectrum:
    """Describe a spectrum with one named period and one peak that was seen too few times."""
    given: dict[str, Any] = {
        "bin_s": 1,
        "frequency_hz": tuple(0.004 * step for step in range(1, 126)),
        "density": tuple(4.0 + 20 / step for step in range(1, 126)),
        "null_density": 4.0,
        "null_low": 2.5,
        "null_high": 5.9,
        "false_alarm_density": 40.0,
        "peaks": (
            Peak(period_s=60, density=90, false_alarm_p=1e-9, num_periods_seen=16.6, is_named=True),
            Peak(period_s=500, density=70, false_alarm_p=1e-7, num_periods_seen=2, is_named=False),
        ),
        "notes": (),
    }
    return Spectrum(**(given | changes))


def a_traffic_profile(**changes: Any) -> TraceProfile:
    """Describe traffic in which every part has something to show."""
    lengths = Lengths(mean=651.0, p50=400, p90=1450, p95=2090, p99=4000, max=4000, min=1)
    spread = Quantiles(mean=2.0, p50=1, p90=4, p99=9, max=12)
    given: dict[str, Any] = {
        "format": "by hand",
        "source": "by hand.csv",
        "digest": "0123456789abcdef",
        "num_requests": NUM_REQUESTS,
        "num_failed": 0,
        "span_s": SPAN_S,
        "rate_rps": (NUM_REQUESTS - 1) / SPAN_S,
        "input_tokens": lengths,
        "output_tokens": lengths,
        "answered_input_tokens": lengths,
        "answered_output_tokens": lengths,
        "input_distribution": a_distribution(),
        "output_distribution": a_distribution(),
        "dependence": DependenceProfile(rank_correlation=0.31, low=0.27, high=0.35, num_requests=NUM_REQUESTS),
        "arrivals": an_arrival_profile(),
        "spectrum": a_spectrum(),
        "prefix": Prefix(
            block_tokens=512,
            num_blocks=5000,
            num_distinct_blocks=3000,
            token_reuse_ratio=0.41,
            block_reuse_ratio=0.4,
            block_reuse_ratio_without_first=0.35,
            shared_first_block_ratio=0.9,
            reuse_interval_p50_s=130.0,
            reuse_interval_p90_s=500.0,
            lru=tuple(
                LruPoint(capacity_tokens=size, block_hit_ratio=hit)
                for size, hit in ((500_000, 0.05), (5_000_000, 0.2), (15_000_000, 0.33), (51_000_000, 0.39))
            ),
            tree=None,
        ),
        "sessions": SessionProfile(
            num_sessions=900,
            multi_turn_ratio=0.4,
            turns=spread,
            think_s=spread,
            is_think_from_arrivals=True,
            model=None,
        ),
        "clients": ClientProfile(
            num_clients=30,
            top_1_share=0.4,
            top_10_share=0.9,
            num_for_half=2,
            top=(Client(rank=1, share=0.4, rate_rps=0.8, cv=2.2), Client(rank=2, share=0.2, rate_rps=0.4, cv=None)),
            model=None,
        ),
        "concurrency": Concurrency(
            source="measured", latency_model=None, mean=6.0, p50=6, p99=14, peak=19, peak_at_s=700.0
        ),
        "dropped": {},
        "notes": (),
        "traits": (
            Trait(
                name="shared beginnings",
                figures={"token_reuse_ratio": 0.41},
                look_at="prefix reuse",
                engine_kind="prefix cache",
            ),
        ),
        "traffic": None,
    }
    return TraceProfile(**(given | changes))
