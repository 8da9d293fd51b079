"""A small process that outlives the driver of a local Ray: once the driver is gone, it ends what is left of that Ray.

Ray's agents stay for a minute when their driver is killed. The guard knows them by pid and start time, told on stdin;
the end of stdin is the driver's end, however it came. Ends nothing that it was not told of.
"""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.supervisor import Process, send_signal

GRACE_S = 4.0
KILL_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Guard:
    """The driver's end of a running guard."""

    process: subprocess.Popen[bytes]

    @classmethod
    def post(cls, folder: Path) -> Self:
        """Start a guard that will remove `folder` in the end."""
        command = [sys.executable, "-P", "-m", "orchestrator.cluster.guard", str(folder)]
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))  # noqa: S603 - our own module

    def watch(self, processes: Sequence[Process]) -> None:
        """Tell the guard of processes that end with the driver."""
        stdin = self.process.stdin
        assert stdin is not None  # noqa: S101 - PIPE was asked for; this tells mypy
        stdin.write(json.dumps(processes).encode() + b"\n")
        stdin.flush()

    def dismiss(self) -> bool:
        """Let the guard do its work and return whether all that it watched is gone."""
        stdin = self.process.stdin
        assert stdin is not None  # noqa: S101 - as above
        stdin.close()
        return self.process.wait() == 0


def end(processes: Sequence[Process], *, grace_s: float = GRACE_S) -> list[Process]:
    """End processes, gently first, and return those that run even then."""
    watched = list(processes)
    send_signal(watched, signal.SIGTERM)
    stubborn = await_end(watched, grace_s)
    send_signal(stubborn, signal.SIGKILL)
    return await_end(stubborn, KILL_TIMEOUT_S)


def main() -> None:
    """Read lists of processes until stdin ends, then end them and remove the folder; exit 1 where one stays."""
    watched = [Process(*one) for line in sys.stdin for one in json.loads(line)]
    left = end(watched)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
