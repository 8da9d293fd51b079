"""An engine that runs on this machine: whether it is still the one we started, and how it is taken down."""

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import EngineAdapter
from orchestrator.deploy import memory
from orchestrator.deploy.lease import STATE_NAME, Lease
from orchestrator.deploy.leftovers import await_end, kill, read_processes
from orchestrator.deploy.log import read_tail
from orchestrator.deploy.ports import is_bindable, is_listening, listens_on
from orchestrator.deploy.supervisor import KILL_TIMEOUT_S, Process, is_running
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import StartTimes, StopReport
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import DeploymentError

SETTLE_TIMEOUT_S = 2.0
SETTLE_POLL_S = 0.02


def describe_status(status: int | None) -> str:
    """Put an exit status in words; a negative one is the signal that ended the process."""
    if status is None:
        return "its supervisor is gone too"
    if status >= 0:
        return f"with exit status {status}"
    return f"by {signal.Signals(-status).name}"


def take_down(lease: Lease, state: Path, grace_s: float) -> list[Process]:
    """Let go of an engine, wait for its tree's end, kill what stays, and return what runs even then."""
    lease.listen()
    known = [*lease.tree(), *read_processes(state)]
    is_over = lease.release(grace_s + KILL_TIMEOUT_S)
    # The supervisor reports while it still ends, so it is given a moment; a silent one is killed with the rest.
    overseer = [lease.supervisor]
    stubborn = await_end(overseer, SETTLE_TIMEOUT_S) if is_over else overseer
    left = kill([one for one in {*known, *lease.left, *stubborn} if is_running(one)])
    if not left:
        state.unlink(missing_ok=True)
    return left


@dataclass(slots=True)
class LocalDeployment:
    """A running engine that this process started; ends with this process at the latest."""

    endpoint: Endpoint
    metrics_url: str | None
    root_pid: int
    is_same_host: bool
    log_path: Path
    times: StartTimes
    argv: tuple[str, ...]
    lease: Lease
    clock: Clock
    adapter: EngineAdapter
    env: Mapping[str, str]
    ports: Mapping[str, int]
    grace_s: float
    available_before_bytes: int
    resolved: Mapping[str, str]
    report: StopReport | None = None

    def check_alive(self) -> None:
        """Return when the very engine that was started still runs and listens.

        Raises:
            DeploymentError: it ended, or another process stands in its place; with its last log lines.
        """
        self.lease.listen()
        if self.report is not None:
            raise self._error("the engine was stopped")
        if self.lease.exit_status is not None or not is_running(self.lease.root):
            raise self._error(f"the engine ended {describe_status(self._exit_status())}")
        port = self.ports["http"]
        if not is_listening(port):
            raise self._error(f"the engine runs as process {self.root_pid}, but nothing answers on its port {port}")
        if listens_on(self.lease.tree(), port) is False:
            raise self._error(f"port {port} belongs to a process that is not the engine's")

    def stop(self) -> StopReport:
        """Stop the engine and verify that its processes, ports and memory are back. Idempotent."""
        if self.report is None:
            self.report = self._stop()
        return self.report

    def _exit_status(self) -> int | None:
        # The process may be seen gone a moment before its supervisor's report of the status arrives.
        if self.lease.exit_status is None:
            self.lease.listen(SETTLE_TIMEOUT_S)
        return self.lease.exit_status

    def _error(self, reason: str) -> DeploymentError:
        tail = read_tail(self.log_path, self.env)
        kind = self.adapter.classify_failure(tail)
        return DeploymentError(f"{self.adapter.name}: {reason}", kind=kind, log_tail=tail)

    def _stop(self) -> StopReport:
        began_ns = self.clock.now_ns()
        held_bytes = memory.unique_bytes(self.lease.tree())
        before_stop = memory.available_bytes()
        left = take_down(self.lease, self.log_path.parent / STATE_NAME, self.grace_s)
        taken = self._await_ports()
        is_returned = self._await_memory(held_bytes, before_stop)
        return StopReport(
            stop_s=(self.clock.now_ns() - began_ns) / NS_PER_S,
            processes_gone=not left,
            ports_free=not taken,
            memory_returned=is_returned,
            leftovers=(*(f"process {one.pid} still runs" for one in left), *taken),
        )

    def _await_ports(self) -> list[str]:
        deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            taken = [f"port {port} ({name}) is taken" for name, port in self.ports.items() if not is_bindable(port)]
            if not taken or time.monotonic() >= deadline_s:
                return taken
            time.sleep(SETTLE_POLL_S)

    def _await_memory(self, held_bytes: int | None, before_stop: int) -> bool | None:
        deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            is_back = memory.is_returned(
                held_bytes,
                before_start=self.available_before_bytes,
                before_stop=before_stop,
                after_stop=memory.available_bytes(),
            )
            if is_back is not False or time.monotonic() >= deadline_s:
                return is_back
            time.sleep(SETTLE_POLL_S)
