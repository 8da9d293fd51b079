"""What a measured window asks of its own process: the collector silent, chosen cores, enough descriptors."""

import gc
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.domain.errors import InputError, MeasurementRefusedError

SPARE_DESCRIPTORS = 128


@contextmanager
def silent_collector() -> Iterator[None]:
    """Keep the garbage collector off; afterwards restore it. What lives is set aside: a full look takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


@contextmanager
def pinned(cpus: Sequence[int] | None) -> Iterator[None]:
    """Keep the calling thread on the given cores; None leaves it where it is.

    Raises:
        InputError: the machine does not have these cores or cannot pin.
    """
    if cpus is None:
        yield
        return
    if sys.platform != "linux":
        raise InputError("client cores can only be chosen on Linux; leave client_cpus out")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        raise InputError(
            f"client cores {list(cpus)} are not to be had; this process may use {sorted(before)}"
        ) from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ensure_descriptors(connections: int) -> int:
    """Make sure that so many connections can be open at once, raising the soft limit where allowed; return the limit.

    Raises:
        MeasurementRefusedError: the hard limit is lower; says how many are needed.
    """
    needed = connections + SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return soft
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise MeasurementRefusedError(
            f"{needed} file descriptors may be needed at once ({connections} requests in flight if the server hangs), "
            f"the limit is {hard}; raise it (ulimit -n {needed}) or shorten the request timeout"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return needed
