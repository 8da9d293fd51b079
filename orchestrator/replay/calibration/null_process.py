"""The null server as its owner holds it: started, asked for its record, ended. Holds no timing of its own."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import MeasurementRefusedError

PROGRAM = Path(__file__).parents[1] / "null_server.py"
PATIENCE_S = 20.0
MODEL = "null"
MAX_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Script:
    """What the null server answers: tokens of each answer, time to the first, time between two."""

    tokens: int = 16
    ttft_s: float = 0.020
    itl_s: float = 0.005


@dataclass(frozen=True, slots=True)
class Truth:
    """What the null server did: one row a request, nanoseconds of CLOCK_MONOTONIC.

    `sent_ns` and `due_ns` have one column a chunk.
    """

    index: NDArray[np.int64]
    received_ns: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    due_ns: NDArray[np.int64]


class NullServer:
    """A null server on the given cores; a context manager.

    One process a core, at most three, share one port: a server of one process would often be the limit itself. They end
    when their standard input does, so they do not outlive their owner.
    """

    def __init__(self, script: Script, *, cpus: Sequence[int] | None = None) -> None:
        self._script = script
        self._cpus = tuple(cpus) if cpus is not None else None
        self._processes: list[NullProcess] = []
        self._stack = ExitStack()

    @property
    def endpoint(self) -> Endpoint:
        """Return where it is spoken to."""
        return Endpoint(f"http://127.0.0.1:{self._processes[0].port}", MODEL)

    def take(self) -> Truth:
        """Return what it did since the last call.

        Raises:
            MeasurementRefusedError: it does not answer any more.
        """
        parts = [one.take() for one in self._processes]
        return Truth(
            index=np.concatenate([one.index for one in parts]),
            received_ns=np.concatenate([one.received_ns for one in parts]),
            sent_ns=np.concatenate([one.sent_ns for one in parts]),
            due_ns=np.concatenate([one.due_ns for one in parts]),
        )

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            port = 0
            for cpu in (self._cpus or (None,))[:MAX_PROCESSES]:
                process = stack.enter_context(NullProcess(self._script, port=port, cpu=cpu))
                port = process.port
                self._processes.append(process)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.clear()
        self._stack.close()


class NullProcess:
    """One process of a null server, on one core or on any; a context manager."""

    def __init__(self, script: Script, *, port: int, cpu: int | None) -> None:
        command = [sys.executable, "-P", str(PROGRAM), f"--port={port}", f"--tokens={script.tokens}"]
        command += [f"--ttft-ns={round(script.ttft_s * NS_PER_S)}", f"--itl-ns={round(script.itl_s * NS_PER_S)}"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.port = port
        self.process = subprocess.Popen(  # noqa: S603 - our own program by our own interpreter
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._cpu = cpu

    def take(self) -> Truth:
        """Return what it did since the last call.

        Raises:
            MeasurementRefusedError: it does not answer any more.
        """
        source, sink = _pipes(self.process)
        try:
            sink.write(b"take\n")
            sink.flush()
        except BrokenPipeError as error:
            raise MeasurementRefusedError("the client cannot be calibrated: its null server has ended") from error
        return read_truth(json.loads(self._line()), source)

    def __enter__(self) -> Self:
        try:
            self.port = json.loads(self._line())["port"]
            if self._cpu is not None:
                os.sched_setaffinity(self.process.pid, (self._cpu,))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _line(self) -> bytes:
        source, _ = _pipes(self.process)
        readable, _, _ = select.select([source], [], [], PATIENCE_S)
        line = source.readline() if readable else b""
        if not line:
            raise MeasurementRefusedError(
                f"the client cannot be calibrated: its null server said nothing within {PATIENCE_S:g} s"
            )
        return line

    def _end(self) -> None:
        for pipe in _pipes(self.process):
            with suppress(BrokenPipeError):
                pipe.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stdin)


def read_truth(facts: dict[str, int], source: IO[bytes]) -> Truth:
    """Read the arrays behind a record's line of JSON; a piece is due by the script, rounded up to the server's slots.

    Raises:
        MeasurementRefusedError: the record ends too early.
    """
    replies, pieces, slot_ns = facts["replies"], facts["pieces"], facts["slot_ns"]
    num_bytes = replies * (2 + pieces) * 8
    data = source.read(num_bytes)
    if len(data) != num_bytes:
        raise MeasurementRefusedError(
            f"the client cannot be calibrated: of its null server's record {num_bytes} bytes were expected, "
            f"{len(data)} seen"
        )
    numbers = np.frombuffer(data, dtype=np.int64)
    index, received_ns = numbers[:replies], numbers[replies : 2 * replies]
    first_ns = -(-(received_ns + facts["ttft_ns"]) // slot_ns) * slot_ns
    return Truth(
        index=index,
        received_ns=received_ns,
        sent_ns=numbers[2 * replies :].reshape(replies, pieces),
        due_ns=first_ns[:, None] + np.arange(pieces, dtype=np.int64) * facts["itl_ns"],
    )
