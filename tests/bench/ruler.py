"""How exactly the client sees what a server of known timings sends: 50 requests/s, TTFT 50 ms, ITL 10 ms."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.metrics.latency import itls_s, ttft_s
from orchestrator.replay import PreparedRequest, Timing, replay_open, served_models

RATE_RPS, TTFT_S, ITL_S, OUTPUT_TOKENS = 50, 0.05, 0.01, 16
WARMUP_S, MEASURE_S = 2.0, 20.0
PORT = 18231
START_LIMIT_S = 20.0


def ruler_errors(folder: Path) -> dict[str, float]:
    """Return errors of TTFT and ITL against the scripted timings, and lags of dispatch, in seconds."""
    cores = sorted(os.sched_getaffinity(0))
    command = [
        sys.executable,
        "-m",
        "adapters.simulated.server",
        "--port",
        str(PORT),
        "--log",
        str(folder / "sent.jsonl"),
    ]
    server = subprocess.Popen([*command, "--ttft-s", str(TTFT_S), "--itl-s", str(ITL_S)], stdout=subprocess.DEVNULL)
    try:
        os.sched_setaffinity(server.pid, cores[-1:])
        log = _replay((cores[0],))
    finally:
        server.terminate()
        server.wait(10)
    return _errors(log)


def _replay(cpus: tuple[int, ...]) -> ReplayLog:
    endpoint = Endpoint(f"http://127.0.0.1:{PORT}", "simulated")
    _await(endpoint)
    dialect = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
    body = encode_request(list(range(32)), "simulated", dialect=dialect, max_tokens=OUTPUT_TOKENS)
    gap_ns = 1_000_000_000 // RATE_RPS
    count = round((WARMUP_S + MEASURE_S) * RATE_RPS)
    requests = [PreparedRequest(at, at * gap_ns, body, 32, OUTPUT_TOKENS) for at in range(count)]
    timing = Timing(warmup_s=WARMUP_S, measure_s=MEASURE_S, drain_s=5, request_timeout_s=10)
    return replay_open(requests, endpoint, load=OpenLoad(rate_rps=RATE_RPS), timing=timing, dialect=dialect, cpus=cpus)


def _await(endpoint: Endpoint) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            served_models(endpoint.base_url)
        except InputError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _errors(log: ReplayLog) -> dict[str, float]:
    issued = [one for one in log.records if log.window.start_ns <= one.intended_ns < log.window.end_ns]
    ttft = np.abs([value - TTFT_S for one in issued if (value := ttft_s(one)) is not None])
    itl = np.abs([gap - ITL_S for one in issued for gap in itls_s(one) or []])
    lag = np.array([one.dispatched_ns - one.intended_ns for one in issued]) / 1e9
    exact = sum(one.output_tokens == OUTPUT_TOKENS for one in issued)
    return {
        "ttft_error_p50_s": float(np.quantile(ttft, 0.5)),
        "ttft_error_p99_s": float(np.quantile(ttft, 0.99)),
        "itl_error_p99_s": float(np.quantile(itl, 0.99)),
        "dispatch_error_p99_s": float(np.quantile(lag, 0.99)),
        "exact_token_count_ratio": exact / len(issued),
    }
