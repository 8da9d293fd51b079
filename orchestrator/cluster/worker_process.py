"""Undoes what Ray does to its worker processes, so that engine and client run as they would without Ray."""

import os
from collections.abc import MutableMapping
from pathlib import Path

OMP_THREADS = "OMP_NUM_THREADS"


def level() -> int:
    """Take back Ray's niceness (15) and its OMP_NUM_THREADS, and return the niceness that is left.

    An unprivileged process cannot take niceness back where the cluster was started without RAY_worker_niceness=0; what
    is left is then part of a trial's facts, since it slows engine and client down beside other programs.
    """
    drop_omp_threads(os.environ, _environ_at_start())
    niceness = os.nice(0)
    try:
        return os.nice(-niceness) if niceness > 0 else niceness
    except PermissionError:
        return niceness


def drop_omp_threads(environ: MutableMapping[str, str], at_start: frozenset[str]) -> None:
    """Drop OMP_NUM_THREADS unless a person set it: Ray sets it after start, to the CPUs that the actor reserved."""
    if OMP_THREADS not in at_start:
        environ.pop(OMP_THREADS, None)


def _environ_at_start() -> frozenset[str]:
    content = Path("/proc/self/environ").read_bytes()
    return frozenset(entry.partition(b"=")[0].decode(errors="replace") for entry in content.split(b"\0"))
