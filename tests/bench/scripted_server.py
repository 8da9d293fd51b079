"""Builds and runs the scripted server (C), whose log of true times is what clients are held against.

A machine without a C compiler measures no client: `NoCompilerError` says so in one line.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

SOURCE = Path(__file__).with_name("scripted_server.c")
MODEL = "scripted"
STOP_LIMIT_S = 30.0
REQUEST_FIELDS = ("index", "received_ns", "first_write", "num_tokens", "late_ns", "ended_ns")

Times = npt.NDArray[np.int64]


class NoCompilerError(RuntimeError):
    """This machine has no C compiler."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the server did, in the order in which requests arrived; nanoseconds of the machine's monotonic clock.

    `index` is the number at the end of a request's `X-Request-Id`, -1 without. `first_write` and `num_tokens` say where
    in `write_ns` a request's tokens stand. `late_ns` is the latest of a request's writes against its due time.
    `num_broken` counts streams that a client left, or read too slowly.
    """

    index: Times
    received_ns: Times
    first_write: Times
    num_tokens: Times
    late_ns: Times
    ended_ns: Times
    write_ns: Times
    num_broken: int

    @property
    def late_p99_s(self) -> float:
        """Return the P99 over requests of how late the server itself was, seconds."""
        return float(np.quantile(self.late_ns, 0.99)) / 1e9 if len(self.late_ns) else 0.0

    def tokens_ns(self, row: int) -> Times:
        """Return when the tokens of the request in that row were written."""
        start = self.first_write[row]
        return self.write_ns[start : start + self.num_tokens[row]]

    def rows(self) -> dict[int, int]:
        """Return the row of each request's index."""
        return {int(index): row for row, index in enumerate(self.index)}


@dataclass(slots=True)
class ScriptedServer:
    """A running server; the model it serves is called `scripted`."""

    url: str
    port: int
    pid: int
    _process: "subprocess.Popen[bytes]" = field(repr=False)
    _log: Path = field(repr=False)
    _truth: Truth | None = field(default=None, repr=False)

    def read_log(self) -> Truth:
        """End the server and return the truth; asked again, the same."""
        if self._truth is None:
            self.stop()
            self._truth = _read(self._log)
        return self._truth

    def stop(self) -> None:
        """End the server, which writes its log then."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        if self._process.wait(STOP_LIMIT_S) != 0:
            raise RuntimeError(f"the scripted server ended with {self._process.returncode}; its log is of no use")


@contextmanager
def scripted_server(
    *, ttft_s: float = 0.02, itl_s: float = 0.005, cpus: Sequence[int] | None = None, spins: bool = True
) -> Iterator[ScriptedServer]:
    """Run a server that answers with the tokens that a request asks, at these times, on these cores.

    It `spins` on its core, so that no wake-up of an idle core lies between the wire and its log.

    Raises:
        NoCompilerError: there is no C compiler.
    """
    with tempfile.TemporaryDirectory() as folder:
        program, log = build_server(Path(folder)), Path(folder) / "log.bin"
        argv = [
            program,
            "-t",
            str(round(ttft_s * 1e9)),
            "-i",
            str(round(itl_s * 1e9)),
            "-l",
            log,
            *["-s"][: int(spins)],
        ]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        try:
            if cpus is not None:
                os.sched_setaffinity(process.pid, cpus)
            assert process.stdout is not None  # a pipe was asked for
            port = int(process.stdout.readline())
            yield ScriptedServer(f"http://127.0.0.1:{port}", port, process.pid, process, log)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def build_server(folder: Path) -> Path:
    """Compile the server into the folder and return the program.

    Raises:
        NoCompilerError: there is no C compiler.
    """
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if compiler is None:
        raise NoCompilerError("no C compiler (cc, gcc) on this machine: the client cannot be held against the truth")
    program = folder / "scripted_server"
    subprocess.run([compiler, "-O2", "-o", program, SOURCE], check=True)
    return program


def _read(path: Path) -> Truth:
    words = np.fromfile(path, np.int64)
    num_requests, num_writes, num_broken, row_bytes = map(int, words[:4])
    num_fields = row_bytes // 8
    if num_fields != len(REQUEST_FIELDS) or len(words) != 4 + num_requests * num_fields + num_writes:
        raise RuntimeError(f"{path}: {len(words)} words are not a log of {num_requests} requests, {num_writes} writes")
    table = words[4 : 4 + num_requests * num_fields].reshape(num_requests, num_fields)
    columns = {name: table[:, at] for at, name in enumerate(REQUEST_FIELDS)}
    return Truth(**columns, write_ns=words[len(words) - num_writes :], num_broken=num_broken)
