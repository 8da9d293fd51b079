import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.deploy.leftovers import await_end
from orchestrator.deploy.supervisor import Process, descendants, identify

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
GONE_WITHIN_S = 20.0


class Driver:
    """A search in a program of its own, its events as they come, and every process that belongs to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = (folder / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.searches", str(folder / "trials"), "6.0"],
            cwd=ROOT,
            env={**os.environ, "SEATRIAL_TEST": str(folder)},
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )

    def lines(self) -> list[str]:
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").splitlines()

    def await_line(self, text: str, timeout_s: float = 120.0) -> None:
        give_up_at = time.monotonic() + timeout_s
        while text not in self.lines():
            assert self.process.poll() is None, "\n".join(self.lines())
            assert time.monotonic() < give_up_at, "\n".join(self.lines())

    def tree(self) -> list[Process]:
        """Return all processes below the driver, and the engines', whose supervisors are nobody's children."""
        mark = str(self.folder).encode()
        others = [
            process
            for entry in (path.name for path in Path("/proc").iterdir())
            if entry.isdigit() and int(entry) != os.getpid() and (process := identify(int(entry))) is not None
            if mark in self._evidence(process.pid)
        ]
        return [*descendants(self.process.pid), *others]

    def ray_folder(self) -> Path:
        """Return the temporary folder of the driver's Ray, from the command line of its guard."""
        commands = [Path(f"/proc/{one.pid}/cmdline").read_bytes() for one in descendants(self.process.pid)]
        (guard,) = [one for one in commands if b"orchestrator.cluster.guard" in one]
        return Path(guard.rstrip(b"\0").split(b"\0")[-1].decode())

    @staticmethod
    def _evidence(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return b""


@contextmanager
def driver_under_load(tmp_path: Path) -> Iterator[tuple[Driver, list[Process]]]:
    """Start a search, wait until its second load runs, and check afterwards that no process is left."""
    driver = Driver(tmp_path)
    try:
        driver.await_line("measured 0 10000")
        time.sleep(1.0)
        processes = driver.tree()
        names = b"\0".join(Driver._evidence(one.pid) for one in processes)
        assert b"raylet" in names
        assert b"simulated/server.py" in names
        ray_folder = driver.ray_folder()
        assert ray_folder.is_dir()
        yield driver, processes
        assert await_end(processes, GONE_WITHIN_S) == []
        assert [one for one in driver.tree() if one.pid != driver.process.pid] == []
        assert not ray_folder.exists()
    finally:
        driver.process.kill()
        driver.process.wait()
        driver.log.close()


def test_one_interrupt_keeps_the_load_in_flight(tmp_path: Path) -> None:
    with driver_under_load(tmp_path) as (driver, _):
        os.killpg(driver.process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        out, _ = driver.process.communicate(timeout=60)
        assert out == b""
        assert driver.process.returncode in {130, -signal.SIGINT}
        assert "measured 0 20000" in driver.lines()
        assert "started 1" not in driver.lines()


def test_two_interrupts_stop_at_once(tmp_path: Path) -> None:
    with driver_under_load(tmp_path) as (driver, _):
        driver.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        driver.process.send_signal(signal.SIGINT)
        driver.process.communicate(timeout=30)
        assert "measured 0 20000" not in driver.lines()


def test_a_terminated_driver_takes_everything_along(tmp_path: Path) -> None:
    with driver_under_load(tmp_path) as (driver, _):
        driver.process.terminate()
        driver.process.communicate(timeout=30)
        assert driver.process.returncode != 0


def test_a_killed_driver_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    with driver_under_load(tmp_path) as (driver, _):
        driver.process.kill()
        driver.process.communicate(timeout=30)
        assert driver.process.returncode == -signal.SIGKILL
