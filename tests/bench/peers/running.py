"""One run of one client on the first core against the scripted server on the last, and the verdict on it."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.bench.peers.environment import PeerError
from tests.bench.peers.ladder import Rung
from tests.bench.peers.order import ITL_S, TTFT_S, Client, Order, Reported
from tests.bench.scripted_server import MODEL, ScriptedServer, Times, scripted_server

SETTLING_S = 1.0  # of a run are left out: connections are made then
RUN_S, LEAST_COUNT = 6.0, 400
START_LIMIT_S = 120.0
TRIES = 3
LADDER_LATE_S, ERROR_LATE_S = 0.003, 0.001  # what a server may be late: rates are held to its log, errors to its median
OTHER_WORK_RATIO = 0.10
ACHIEVED_RATIO, TTFT_ERROR_S = 0.95, 0.010
QUICK_COUNT, QUICK_RPS = 10, 50.0
SAID_LINES = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """One run as both sides tell it: what the client says, when the server received each request and how long it took.

    `server_late_s` is the P99 of the server's own lateness, `other_work_ratio` what else ran on the client's core.
    """

    reported: Reported
    received_ns: Times
    true_ttft_s: npt.NDArray[np.float64]
    server_late_s: float
    other_work_ratio: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Where clients run: their core, the server's, the tokenizer that peers make prompts with."""

    core: int
    server_cores: tuple[int, ...]
    tokenizer: Path

    def rung(self, client: Client, rate_rps: float) -> Rung:
        """Run a client at one rate and judge it; runs that the machine or the server spoiled are made again."""
        settled = max(RUN_S, LEAST_COUNT / rate_rps)
        spoiled = ""
        for _ in range(TRIES):
            try:
                seen = self.see(client, rate_rps, count=round(rate_rps * (SETTLING_S + settled)))
            except PeerError as error:
                return Rung(rate_rps, None, None, None, dishonest=str(error))
            spoiled = _spoiled(seen, LADDER_LATE_S)
            if not spoiled:
                return _judge(rate_rps, seen)
        return Rung(rate_rps, None, None, None, spoiled=f"not measurable here: {spoiled}, {TRIES} times")

    def see(self, client: Client, rate_rps: float, *, count: int) -> Seen:
        """Run a client once.

        Raises:
            PeerError: it failed, hung or left no result.
        """
        with self._ordered(rate_rps, count) as (order, server):
            busy_s, began_s = _busy_s(self.core), time.monotonic()
            used_s = self._execute(
                client.command(order), client, env=client.env(order), limit_s=_limit_s(count, rate_rps)
            )
            others_s = _busy_s(self.core) - busy_s - used_s
            other_work_ratio = max(0.0, others_s / (time.monotonic() - began_s))
            try:
                reported = client.read(order)
            except (OSError, ValueError, KeyError, IndexError) as error:
                raise PeerError(f"{client.name} left no result that can be read: {error!r}") from error
            truth = server.read_log()
        asked = slice(-count, None)  # what came before was a probe of the client's
        first_ns = truth.write_ns[truth.first_write[asked]]
        received_ns = truth.received_ns[asked]
        return Seen(reported, received_ns, (first_ns - received_ns) / 1e9, truth.late_p99_s, other_work_ratio)

    @contextmanager
    def _ordered(self, rate_rps: float, count: int) -> Iterator[tuple[Order, ScriptedServer]]:
        """Start a server for one run and spell the run."""
        with (
            tempfile.TemporaryDirectory(prefix="peer-") as folder,
            scripted_server(ttft_s=TTFT_S, itl_s=ITL_S, cpus=self.server_cores) as server,
        ):
            yield Order(server.url, MODEL, rate_rps, count, Path(folder), self.tokenizer), server

    def exec_to_exit_s(self, client: Client) -> float:
        """Return the wall time of a run of ten requests, the least of three: no accident makes a start faster."""
        return min(self._quick_s(client) for _ in range(TRIES))

    def _quick_s(self, client: Client) -> float:
        with self._ordered(QUICK_RPS, QUICK_COUNT) as (order, _):
            began_s = time.monotonic()
            self._execute(client.quick(order), client, env=client.env(order), limit_s=START_LIMIT_S)
            return time.monotonic() - began_s

    def _execute(self, argv: list[str], client: Client, *, env: Mapping[str, str], limit_s: float) -> float:
        """Run a program on the client's core and return its CPU time, children included."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(
                argv,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env},
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, {self.core}),  # noqa: PLW1509 - no threads of ours here
            )
            before = os.times()
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired as error:
                raise PeerError(f"{client.name} had not ended after {limit_s:.0f} s") from error
            finally:
                _end_group(process)
            after = os.times()
            if code:
                said.seek(0)
                tail = " / ".join(said.read().strip().splitlines()[-SAID_LINES:])
                raise PeerError(f"{client.name} ended with status {code}: {tail}")
            return after.children_user + after.children_system - before.children_user - before.children_system


def settled_errors_s(seen: Seen, rate_rps: float) -> np.ndarray:
    """Return how far each reported TTFT of a settled run is from the server's own median, seconds."""
    ttft_s = np.array(seen.reported.ttft_s[round(rate_rps * SETTLING_S) :])
    return np.abs(ttft_s - np.median(seen.true_ttft_s))


def quiet(bench: Bench, client: Client, rate_rps: float, *, count: int) -> Seen:
    """Run a client until neither the machine nor the server spoiled the run.

    Raises:
        PeerError: it failed, or no run of three was clean.
    """
    spoiled = ""
    for _ in range(TRIES):
        seen = bench.see(client, rate_rps, count=count)
        spoiled = _spoiled(seen, ERROR_LATE_S)
        if not spoiled:
            return seen
    raise PeerError(f"not measurable here: {spoiled}, {TRIES} times")


def _limit_s(count: int, rate_rps: float) -> float:
    return START_LIMIT_S + 5 * count / rate_rps


def _spoiled(seen: Seen, late_s: float) -> str:
    """Say what makes a run worthless whatever the client did, empty where nothing does."""
    if seen.server_late_s > late_s:
        return f"the server was {seen.server_late_s * 1000:.1f} ms late itself"
    if seen.other_work_ratio > OTHER_WORK_RATIO:
        return f"other work took {seen.other_work_ratio:.0%} of the client's core"
    return ""


def _judge(rate_rps: float, seen: Seen) -> Rung:
    skipped = round(rate_rps * SETTLING_S)
    times, ttft_s = seen.received_ns[skipped:], seen.reported.ttft_s[skipped:]
    if len(times) < 2 or not ttft_s:
        counted = f"{len(seen.reported.ttft_s)} answers, {seen.reported.num_failed} failed"
        return Rung(rate_rps, None, None, None, dishonest=counted)
    achieved_rps = (len(times) - 1) / float(times[-1] - times[0]) * 1e9
    rung = Rung(rate_rps, achieved_rps, float(np.quantile(ttft_s, 0.99)), float(np.quantile(seen.true_ttft_s, 0.99)))
    return replace(rung, dishonest=_dishonest(rung, seen.reported.num_failed))


def _dishonest(rung: Rung, num_failed: int) -> str | None:
    assert rung.achieved_rps is not None
    assert rung.ttft_p99_s is not None
    assert rung.true_ttft_p99_s is not None
    if num_failed:
        return f"{num_failed} requests failed"
    if rung.achieved_rps < ACHIEVED_RATIO * rung.rate_rps:
        return f"sent {rung.achieved_rps:.0f} of {rung.rate_rps:.0f} requests/s"
    off_s = abs(rung.ttft_p99_s - rung.true_ttft_p99_s)
    return f"P99 of TTFT is {off_s * 1000:.1f} ms off" if off_s > TTFT_ERROR_S else None


def _busy_s(core: int) -> float:
    """Return how long programs, and the hypervisor's other guests, have held a core since its start, seconds.

    Interrupts are left out: a client's own packets are among them.
    """
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *ticks = line.split()
        if name == f"cpu{core}":
            user, nice, system, _, _, _, _, steal = map(int, ticks[:8])
            return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")
    raise PeerError(f"/proc/stat has no core {core}")


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End what is left of a client's process group, and reap the client."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
