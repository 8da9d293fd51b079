"""CPU and memory of an engine's whole process tree, and of the host it runs on."""

import time
from typing import ClassVar

import psutil

from orchestrator.telemetry.reading import GapError, Reading

NS_PER_S = 1_000_000_000
FIND_CHILDREN_NS = NS_PER_S
PERCENT = 100.0


class TreeSource:
    """An engine's process and all below it: resident memory (pages shared within the tree count each time), cores used.

    Cores are the CPU time that the tree used since the last look, over the time between. Children are looked for once a
    second, since that reads every process of the machine. A tree without its root is a gap.
    """

    name: ClassVar[str] = "process tree"

    def __init__(self, root_pid: int) -> None:
        self._root_pid = root_pid
        self._root: psutil.Process | None = None
        self._tree: list[psutil.Process] = []
        self._found_ns = 0
        self._used_s: dict[psutil.Process, float] = {}
        self._read_ns: int | None = None

    def read(self) -> Reading:
        """Look once."""
        now_ns = time.monotonic_ns()
        self._find(now_ns)
        used_s: dict[psutil.Process, float] = {}
        resident_bytes = 0
        for process in self._tree:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    resident_bytes += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            used_s[process] = times.user + times.system
        values = {"host_memory_bytes": float(resident_bytes), "host_processes": float(len(used_s))}
        if self._read_ns is not None:
            values["host_cpu_cores"] = self._increase_s(used_s) / ((now_ns - self._read_ns) / NS_PER_S)
        self._used_s, self._read_ns = used_s, now_ns
        return Reading(now_ns, values)

    def _find(self, now_ns: int) -> None:
        try:
            if self._root is None:
                self._root = psutil.Process(self._root_pid)
            is_gone = not self._root.is_running() or self._root.status() == psutil.STATUS_ZOMBIE
            if not is_gone and (not self._tree or now_ns - self._found_ns >= FIND_CHILDREN_NS):
                self._tree = [self._root, *self._root.children(recursive=True)]
                self._found_ns = now_ns
        except psutil.NoSuchProcess:
            is_gone = True
        if is_gone:
            self._read_ns = None
            raise GapError(f"process {self._root_pid} is gone")

    def _increase_s(self, used_s: dict[psutil.Process, float]) -> float:
        # A process seen for the first time began after the last look for children: all it used is new.
        return sum(used - self._used_s.get(process, 0.0) for process, used in used_s.items())


class HostSource:
    """What the machine as a whole has left, and how busy its cores are."""

    name: ClassVar[str] = "host"

    def __init__(self) -> None:
        psutil.cpu_percent(None)

    def read(self) -> Reading:
        """Look once."""
        now_ns = time.monotonic_ns()
        available_bytes = psutil.virtual_memory().available
        busy = psutil.cpu_percent(None) / PERCENT
        return Reading(now_ns, {"host_available_bytes": float(available_bytes), "machine_cpu_ratio": busy})
