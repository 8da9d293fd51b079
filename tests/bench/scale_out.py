"""What a second client process brings, and what an hour's worth of records costs in memory.

Client processes are on the first core, server and coordinator on the last. Each is held to 40 % of a core by the
kernel's quota, so that two share one core and the server is not the limit. A run in which the server was late by its
own log is thrown away and tried again.
"""

import contextlib
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.metrics.latency import ttft_s
from orchestrator.metrics.window import issued_in, sent_in
from orchestrator.replay import PreparedRequest, Timing
from orchestrator.replay.workers import Crew, launch_process, replay_shared
from orchestrator.replay.workers.channel import OnBytes, OnLost, ProcessChannel
from orchestrator.replay.workers.wire import HEAD, Kind
from tests.bench.scripted_server import MODEL, NoCompilerError, ScriptedServer, Truth, scripted_server

CGROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US, QUOTA_US, SHARES = 10_000, 4_000, 200_000
TOKENS = 16
DIALECT = Dialect("completions", Capabilities(output_length_control="ignore_eos"))
BODY = encode_request(list(range(32)), MODEL, dialect=DIALECT, max_tokens=TOKENS)
HONEST_RATIO, HONEST_ERROR_S, SERVER_LATE_S = 0.95, 0.010, 0.002
WARMUP_S, MEASURE_S = 0.5, 2.5
FIRST_RPS, FINE, TRIES = 800.0, 1.04, 2
EXPECTED_RATIO = 1.8
STREAM_RPS, STREAM_S, STREAM_EARLY_S = 1000.0, 120.0, 30.0


def scale_out() -> dict[str, float | str | None]:
    """Return `ruler_two_processes_ratio`, the honest rates behind it, and memory of a replay that streams to disk."""
    return {**two_processes(), **streaming_memory()}


def two_processes() -> dict[str, float | str | None]:
    """Return the highest honest rates of one and of two processes at 40 % of a core each, and their ratio."""
    reason = _no_quota()
    if reason is not None:
        return {"ruler_two_processes_ratio": None, "ruler_two_processes_reason": f"not measurable here: {reason}"}
    try:
        one = _highest_honest(1, FIRST_RPS, step=2.0)
        two = _highest_honest(2, one * EXPECTED_RATIO, step=1.25)
    except NoCompilerError as error:
        return {"ruler_two_processes_ratio": None, "ruler_two_processes_reason": f"not measurable here: {error}"}
    return {
        "ruler_two_processes_ratio": two / one,
        "ruler_one_process_at_40_percent_rps": one,
        "ruler_two_processes_at_40_percent_rps": two,
    }


def streaming_memory() -> dict[str, float | str | None]:
    """Return resident memory, bytes, of coordinator and worker, early and late in a replay of 1,000 requests/s."""
    with tempfile.TemporaryDirectory() as folder, scripted_server(cpus=_cores()[-1:], spins=False) as server:
        seen: dict[str, float] = {}
        watcher = threading.Thread(target=_watch_memory, args=(seen,))
        watcher.start()
        log = replay_shared(
            _requests(STREAM_RPS, STREAM_S),
            Endpoint(server.url, MODEL),
            load=OpenLoad(rate_rps=STREAM_RPS),
            timing=Timing(0.0, STREAM_S, 5.0, 10.0),
            crew=Crew(1, _cores()[:1], coordinator_cpus=_cores()[-1:]),
            dialect=DIALECT,
            records_path=Path(folder) / "requests.parquet",
        )
        watcher.join()
        lag_s = np.array([one.dispatched_ns - one.intended_ns for one in log.records]) / 1e9
        return {
            **seen,
            "ruler_stream_num_records": len(log.records),
            "ruler_stream_num_completed": sum(one.failure is None for one in log.records),
            "ruler_stream_backlog_s": log.backlog_s,
            "ruler_stream_dispatch_lag_p99_s": float(np.quantile(lag_s, 0.99)),
            "ruler_stream_worker_cpu_ratio": log.client_cpu_ratio,
            "ruler_stream_file_bytes": (Path(folder) / "requests.parquet").stat().st_size,
        }


def _highest_honest(workers: int, first_rps: float, *, step: float) -> float:
    """Go up by steps while honest, down while not, then bisect until the bracket is 4 % wide."""
    low, high = first_rps, first_rps
    if _is_honest(workers, first_rps):
        while _is_honest(workers, high := low * step):
            low = high
    else:
        while not _is_honest(workers, low := high / step):
            high = low
    while high / low > FINE:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _is_honest(workers, middle) else (low, middle)
    return low


def _is_honest(workers: int, rate_rps: float) -> bool:
    """Say whether the client is to be believed at a rate; a failure is tried once more, noise being what it is here."""
    fails = 0
    for _ in range(3 * TRIES):
        with scripted_server(cpus=_cores()[-1:], spins=False) as server:
            _put_first(server.pid)
            log = _offer(server, workers, rate_rps)
            truth = server.read_log()
        why = _dishonesty(log, truth)
        sys.stderr.write(f"{workers} workers at {rate_rps:.0f}/s: {why or 'honest'}\n")
        if why is None:
            return True
        fails += truth.late_p99_s <= SERVER_LATE_S
        if fails == TRIES:
            return False
    raise RuntimeError(f"the scripted server was late at {rate_rps:.0f} requests/s again and again: measure elsewhere")


def _dishonesty(log: ReplayLog, truth: Truth) -> str | None:
    issued = issued_in(log.records, log.window)
    seen = [value for one in issued if (value := ttft_s(one)) is not None]
    ratio = sent_in(log.records, log.window) / (log.load.rate_rps * MEASURE_S)
    true_p99_s = float(np.quantile(truth.write_ns[truth.first_write] - truth.received_ns, 0.99)) / 1e9
    if truth.late_p99_s > SERVER_LATE_S:
        return f"server late: P99 {truth.late_p99_s * 1000:.1f} ms"
    if ratio < HONEST_RATIO or len(seen) < HONEST_RATIO * len(issued):
        return f"sent {ratio:.3f} of the load, {len(seen)} of {len(issued)} completed"
    error_s = float(np.quantile(seen, 0.99)) - true_p99_s
    return f"TTFT P99 off by {error_s * 1000:.1f} ms" if abs(error_s) > HONEST_ERROR_S else None


def _offer(server: ScriptedServer, workers: int, rate_rps: float) -> ReplayLog:
    with contextlib.ExitStack() as groups:

        async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> _Held:
            group = groups.enter_context(_quota(f"seatrial-bench-{os.getpid()}-{name}"))
            return _Held(await launch_process(name, on_bytes, on_lost), group)

        return replay_shared(
            _requests(rate_rps, WARMUP_S + MEASURE_S),
            Endpoint(server.url, MODEL),
            load=OpenLoad(rate_rps=rate_rps),
            timing=Timing(WARMUP_S, MEASURE_S, 1.0, 10.0),
            crew=Crew(workers, _cores()[:1], launch, coordinator_cpus=_cores()[-1:]),
            dialect=DIALECT,
        )


class _Held:
    """A channel whose worker is held to its quota from the word to start on; it may import in its own time."""

    def __init__(self, channel: ProcessChannel, group: Path) -> None:
        self._channel = channel
        self._group = group

    def send(self, data: bytes) -> None:
        if HEAD.unpack_from(data)[1] == Kind.START:
            (self._group / "cgroup.procs").write_text(str(self._channel.process.pid))
        self._channel.send(data)

    async def close(self, *, kill: bool) -> str | None:
        return await self._channel.close(kill=kill)


@contextlib.contextmanager
def _quota(name: str) -> Iterator[Path]:
    group = CGROUPS / name
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        (group / "cpu.shares").write_text(str(SHARES))  # the quota is to be the limit, not what else runs
        yield group
    finally:
        group.rmdir()


def _put_first(pid: int) -> None:
    """Let the server go before all else on its core, where this user may say so."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))


def _no_quota() -> str | None:
    try:
        with _quota(f"seatrial-bench-{os.getpid()}-probe"):
            return None if len(_cores()) > 1 else "one core only"
    except OSError as error:
        return f"no CPU quota can be set ({error})"


def _requests(rate_rps: float, span_s: float) -> Iterator[PreparedRequest]:
    for at in itertools.count():
        offset_ns = round(at * 1e9 / rate_rps)
        if offset_ns >= span_s * 1e9:
            return
        yield PreparedRequest(at, offset_ns, BODY, 32, TOKENS)


def _watch_memory(seen: dict[str, float]) -> None:
    own = os.getpid()
    while not (workers := _workers_of(own)):
        time.sleep(0.1)
    began = time.monotonic()
    for label, at_s in (("early", STREAM_EARLY_S), ("late", STREAM_S - 1)):
        time.sleep(began + at_s - time.monotonic())
        seen[f"ruler_stream_coordinator_{label}_bytes"] = _resident_bytes(own)
        seen[f"ruler_stream_worker_{label}_bytes"] = _resident_bytes(workers[0])


def _workers_of(pid: int) -> list[int]:
    pids = [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    return [one for one in pids if b"replay.workers.worker" in Path(f"/proc/{one}/cmdline").read_bytes()]


def _resident_bytes(pid: int) -> int:
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _cores() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0)))


if __name__ == "__main__":
    works = {"ratio": two_processes, "memory": streaming_memory}
    sys.stdout.write(json.dumps(works[sys.argv[1]]() if sys.argv[1:] else scale_out(), indent=2) + "\n")
