"""Whether an engine's memory came back to the host after its end. Device memory is telemetry's."""

from collections.abc import Iterable

import psutil

from orchestrator.deploy.supervisor import Process

TELLABLE_BYTES = 64 * 1024 * 1024
NOISE_BYTES = 256 * 1024 * 1024
RETURNED_RATIO = 0.5


def available_bytes() -> int:
    """Return the host memory that new processes could have."""
    available: int = psutil.virtual_memory().available
    return available


def unique_bytes(processes: Iterable[Process]) -> int | None:
    """Sum the memory that only these processes hold (USS); None where the system does not tell."""
    total = 0
    for one in processes:
        try:
            total += psutil.Process(one.pid).memory_full_info().uss
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            return None
    return total


def is_returned(held_bytes: int | None, *, before_start: int, before_stop: int, after_stop: int) -> bool | None:
    """Say whether memory came back; the three times are the host's available bytes.

    It came back when as much is available as before the start, or when stopping freed at least half of what the engine
    held alone. None where the engine held too little to be seen among its neighbours.
    """
    if held_bytes is None or held_bytes < TELLABLE_BYTES:
        return None
    if after_stop >= before_start - NOISE_BYTES:
        return True
    return after_stop - before_stop >= RETURNED_RATIO * held_bytes
