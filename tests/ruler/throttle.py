"""Holds a process to a tenth of a core: by the kernel's quota, else by stopping it nine tenths of the time."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup/cpu")
PERIOD_US, QUOTA_US = 100_000, 10_000


@contextmanager
def held_to_a_tenth(pid: int) -> Iterator[str]:
    """Throttle a child of ours while the block runs; yield by what means."""
    group = CGROUP / f"seatrial-ruler-{pid}"
    try:
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        with _stopped_mostly(pid):
            yield "stopping"
        return
    try:
        yield "quota"
    finally:
        with contextlib.suppress(ProcessLookupError, OSError):
            (CGROUP / "cgroup.procs").write_text(str(pid))
        with contextlib.suppress(OSError):
            group.rmdir()


@contextmanager
def _stopped_mostly(pid: int) -> Iterator[None]:
    is_over = threading.Event()

    def stop_and_go() -> None:
        with contextlib.suppress(ProcessLookupError):
            while not is_over.wait(QUOTA_US / 1e6):
                os.kill(pid, signal.SIGSTOP)
                is_over.wait((PERIOD_US - QUOTA_US) / 1e6)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
