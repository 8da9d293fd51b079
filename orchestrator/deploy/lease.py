"""The owner's end of a supervised engine: starts the supervisor, hears its reports, and lets go.

Holding the lease keeps the engine alive; closing it, or dying, ends the engine's whole tree.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from orchestrator.deploy import supervisor
from orchestrator.deploy.supervisor import Order, Process
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.errors import DeploymentError

START_TIMEOUT_S = 30.0
STATE_NAME = "engine.pids.json"
DEFAULT_GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Command:
    """One engine's command line with all it needs; `cpus` pins the whole tree, None leaves all cores."""

    argv: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    log_path: Path
    cpus: Sequence[int] | None = None
    grace_s: float = DEFAULT_GRACE_S


def own_process() -> Process:
    """Identify the process that calls this."""
    found = supervisor.identify(os.getpid())
    if found is None:
        raise DeploymentError("expected /proc to show this process, seen nothing; is /proc mounted?")
    return found


def _order(command: Command) -> Order:
    return Order(
        argv=list(command.argv),
        env=dict(command.env),
        folder=str(command.folder),
        log=str(command.log_path),
        state=str(command.folder / STATE_NAME),
        cpus=list(command.cpus or ()),
        owner=list(own_process()),
        grace_s=command.grace_s,
    )


def _spawn(log_path: Path) -> subprocess.Popen[bytes]:
    with log_path.open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - our own program by our own interpreter
            [sys.executable, "-I", "-S", supervisor.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )


@dataclass(slots=True)
class Lease:
    """A running supervisor and what it has reported so far. `began_ns` is when it started the engine."""

    clock: Clock
    starter: subprocess.Popen[bytes]
    began_ns: int = 0
    supervisor: Process = field(default=Process(0, 0))
    root: Process = field(default=Process(0, 0))
    exit_status: int | None = None
    failure: str | None = None
    left: tuple[Process, ...] = ()
    is_over: bool = False
    _unread: bytes = b""

    @classmethod
    def take(cls, command: Command, clock: Clock) -> Self:
        """Start the command under a supervisor and return once its process exists.

        Raises:
            DeploymentError: the command cannot be executed.
        """
        command.folder.mkdir(parents=True, exist_ok=True)
        order = _order(command)
        lease = cls(clock, _spawn(command.log_path))
        try:
            lease._send(order)
        except BaseException:
            lease.release(0.0)
            raise
        return lease

    def _send(self, order: Order) -> None:
        stdin, stdout = self.starter.stdin, self.starter.stdout
        assert stdin is not None  # noqa: S101 - PIPE was asked for; this tells mypy
        assert stdout is not None  # noqa: S101 - likewise
        stdin.write(json.dumps(order._asdict()).encode() + b"\n")
        stdin.flush()
        self.starter.wait(START_TIMEOUT_S)
        deadline_ns = self.clock.now_ns() + round(START_TIMEOUT_S * NS_PER_S)
        while not (self.began_ns or self.is_over) and self.clock.now_ns() < deadline_ns:
            self.listen(0.1)
        if not self.began_ns:
            reason = self.failure or "its supervisor reported no start"
            raise DeploymentError(f"{order.argv[0]} cannot be started: {reason}")

    def listen(self, timeout_s: float = 0.0) -> None:
        """Take in what the supervisor reported, waiting up to `timeout_s` for something new."""
        stdout = self.starter.stdout
        if self.is_over or stdout is None or stdout.closed:
            return
        poll = select.poll()
        poll.register(stdout.fileno(), select.POLLIN)
        while poll.poll(timeout_s * 1000):
            chunk = os.read(stdout.fileno(), 1 << 16)
            if not chunk:
                self.is_over = True
                return
            *lines, self._unread = (self._unread + chunk).split(b"\n")
            for line in lines:
                self._take_in(json.loads(line))
            timeout_s = 0.0

    def _take_in(self, event: Mapping[str, Any]) -> None:
        match event["event"]:
            case "started":
                self.began_ns = event["began_ns"]
                self.root = Process(*event["engine"])
                start = supervisor.identify(event["supervisor"])
                self.supervisor = start or Process(event["supervisor"], 0)
            case "failed":
                self.failure = event["reason"]
            case "exited":
                self.exit_status = event["status"]
            case "gone":
                self.left = tuple(Process(*one) for one in event["left"])

    def tree(self) -> list[Process]:
        """List the engine's running processes, the root among them."""
        return supervisor.descendants(self.supervisor.pid) if supervisor.is_running(self.supervisor) else []

    def release(self, timeout_s: float) -> bool:
        """Let go, wait until the tree is down, and say whether the supervisor reported its end in time."""
        with contextlib.suppress(BrokenPipeError):
            if self.starter.stdin is not None:
                self.starter.stdin.close()
        deadline_ns = self.clock.now_ns() + round(timeout_s * NS_PER_S)
        while not self.is_over and self.clock.now_ns() < deadline_ns:
            self.listen(0.1)
        if self.starter.stdout is not None:
            self.starter.stdout.close()
        self.starter.wait()
        return self.is_over
