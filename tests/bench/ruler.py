"""How exact the client is and how far it stays honest, on one core, against a C server that logs the truth on another.

Honest: at least 95 % of the offered rate reaches the server, and the reported P99 TTFT is within 10 ms of the true one.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from orchestrator.metrics.fidelity import judge
from tests.bench.ruler_run import OUTPUT_TOKENS, Played, ServerLateError, constant_ns, cores, play
from tests.bench.scripted_server import NoCompilerError, scripted_server
from workloads.readers import read_trace

RATES_RPS = {"": 50.0, "_at_3000": 3000.0}
MEASURE_S, LADDER_MEASURE_S = 10.0, 3.0
FIRST_RPS, FINE = 1000.0, 1.1
MIN_ACHIEVED_RATIO, MAX_P99_ERROR_S = 0.95, 0.010
TRACE, TRACE_REQUESTS, TRACE_RPS = "azure2023/AzureLLMInferenceTrace_conv.csv", 2000, 50.0
NUM_STREAMS, STREAM_ITL_S, STREAM_TOKENS = 4000, 0.05, 200
MEMORY_REQUESTS = 20_000

Figures = dict[str, float | str | None]


def ruler_errors() -> Figures:
    """Return the ruler's figures; of those that this machine cannot measure, `..._reason` says why in one line."""
    figures: Figures = {}
    for part in (_exactness, _honest_rate, _trace, _streams, _memory):
        try:
            figures |= part()
        except (NoCompilerError, ServerLateError) as error:
            figures[f"ruler{part.__name__}_reason"] = f"not measurable here: {error}"
    return figures


def highest_honest_rate(
    is_honest: Callable[[float], bool], first_rps: float = FIRST_RPS, *, fine: float = FINE
) -> float | None:
    """Return the highest rate found honest: doubled up to the first that is not, then raised by `fine` from there.

    None where not even the first is.
    """
    rate_rps, honest = first_rps, None
    while is_honest(rate_rps):
        honest, rate_rps = rate_rps, rate_rps * 2
    while honest is not None and honest * fine < rate_rps and is_honest(honest * fine):
        honest *= fine
    return honest


def is_honest(played: Played, rate_rps: float) -> bool:
    """Say whether a client's report can be believed: it kept the rate, lost nothing and told the true P99 TTFT."""
    if played.completed_ratio() < 1 or played.achieved_rps() < MIN_ACHIEVED_RATIO * rate_rps:
        return False
    reported, true = (np.quantile(one, 0.99) for one in (played.reported_ttft_s(), played.true_ttft_s()))
    return bool(abs(reported - true) <= MAX_P99_ERROR_S)


def _exactness() -> Figures:
    figures: Figures = {}
    for suffix, rate_rps in RATES_RPS.items():
        played = play(constant_ns(rate_rps, MEASURE_S if rate_rps < FIRST_RPS else LADDER_MEASURE_S))
        figures |= {
            f"ttft_error_p50_s{suffix}": _quantile(played.ttft_error_s(), 0.5),
            f"ttft_error_p99_s{suffix}": _quantile(played.ttft_error_s(), 0.99),
            f"itl_error_p99_s{suffix}": _quantile(played.itl_error_s(), 0.99),
            f"dispatch_error_p99_s{suffix}": _quantile(played.arrival_error_s(), 0.99),
            f"exact_token_count_ratio{suffix}": played.completed_ratio(),
            f"client_cpu_ratio{suffix}": played.log.client_cpu_ratio,
        }
    return figures


def _honest_rate() -> Figures:
    """Climb until a run is dishonest, or until the server cannot follow, which is then said."""
    limits: list[str] = []
    chunks: dict[float, float] = {}

    def run(rate_rps: float) -> bool:
        try:
            played = play(constant_ns(rate_rps, LADDER_MEASURE_S))
        except ServerLateError as error:
            limits.append(str(error))
            return False
        chunks[rate_rps] = played.achieved_rps() * OUTPUT_TOKENS
        return is_honest(played, rate_rps)

    best = highest_honest_rate(run)
    return {
        "ruler_max_rps": best,
        "ruler_max_chunks_per_s": None if best is None else chunks[best],
        "ruler_limited_by": "the server" if limits else "the client",
    }


def _trace() -> Figures:
    """Replay the arrivals of a public trace, sped up to a mean of 50 requests/s; None without the trace."""
    folder = Path(os.environ.get("SEATRIAL_TRACES", "traces"))
    if not (folder / TRACE).is_file():
        return {"trace_dispatch_error_p99_s": None}
    times_ns = read_trace(folder / TRACE).arrival_ns[:TRACE_REQUESTS].astype(np.float64)
    scale = (TRACE_REQUESTS / TRACE_RPS) * 1e9 / float(times_ns[-1] - times_ns[0])
    played = play([round(at) for at in (times_ns - times_ns[0]) * scale])
    return {"trace_dispatch_error_p99_s": _quantile(played.arrival_error_s(), 0.99)}


def _streams() -> Figures:
    """Hold 4,000 streams of 20 chunks/s open at once and have the client judge itself."""
    answer_s = STREAM_ITL_S * STREAM_TOKENS
    played = play(constant_ns(NUM_STREAMS / answer_s, answer_s), tokens=STREAM_TOKENS, itl_s=STREAM_ITL_S)
    fidelity = judge(played.log)
    return {
        "streams_4000_verdict": str(fidelity.verdict),
        "streams_4000_reasons": "; ".join(fidelity.reasons),
        "streams_4000_peak": float(played.log.notes["peak_in_flight"]),
    }


def _memory() -> Figures:
    """Let a process of its own keep 20,000 records; what it grew by a request, tokens' 8 bytes apart."""
    _, server = cores()
    with scripted_server(cpus=server, spins=False) as running:
        argv = [sys.executable, "-m", "tests.bench.ruler_memory", running.url, str(MEMORY_REQUESTS)]
        said = subprocess.run(argv, check=True, capture_output=True, text=True)
    return {"bytes_per_request": float(said.stdout)}


def _quantile(values: np.ndarray, share: float) -> float:
    return float(np.quantile(values, share))
