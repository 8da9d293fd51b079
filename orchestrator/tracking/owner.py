"""Who drives a study: a process, told apart from every other that had its number, and whether it still lives."""

import os
import socket
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Owner(BaseModel):
    """One driver. `place` names the process table in which `pid` counts: host, boot and PID namespace."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pid: int
    process_start: str
    host: str
    place: str
    job: str | None = None

    def __str__(self) -> str:
        job = f", job {self.job}" if self.job else ""
        return f"process {self.pid} on {self.host}{job}"


def this_owner(*, job: str | None = None) -> Owner:
    """Describe this process; `job` is the id of the submitted job it belongs to, where there is one."""
    pid = os.getpid()
    return Owner(pid=pid, process_start=_process_start(pid) or "", host=socket.gethostname(), place=_place(), job=job)


def is_dead(owner: Owner) -> bool | None:
    """Say whether an owner has ended; None where that cannot be seen from here."""
    if owner.place != _place():
        return None
    start = _process_start(owner.pid)
    return start is None or start != owner.process_start


def _process_start(pid: int) -> str | None:
    """Return a mark that a reused process number does not share; None where no such process runs."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        state, start_ticks = fields[0], fields[19]  # proc(5): fields 3 and 22
        return None if state in {"Z", "X"} else start_ticks
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""


def _place() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    boot_id = boot.read_text().strip() if boot.exists() else ""
    return "/".join((socket.gethostname(), boot_id, str(namespace.readlink()) if namespace.exists() else ""))
