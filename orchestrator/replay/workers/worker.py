"""The program of a load worker: `python -m orchestrator.replay.workers.worker FD` on one end of a socket pair.

Replays its share when told to and hands out each record as it ends. Dies with the process that started it.
"""

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from orchestrator.domain.clock import Clock, SystemClock
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.replay.replay import replay_closed, replay_open
from orchestrator.replay.workers.link import Inbox, Outbox
from orchestrator.replay.workers.order import Order
from orchestrator.replay.workers.wire import Kind

PR_SET_PDEATHSIG = 1


def serve(sock: socket.socket, clock: Clock, *, before_replay: Callable[[], None] = lambda: None) -> None:
    """Work off one order that comes through `sock`; `before_replay` runs between the word to start and the replay."""
    outbox = Outbox(sock)
    inbox = Inbox(sock, outbox, now=clock.now_ns)
    order = inbox.await_order()
    outbox.say(Kind.READY, (os.getpid(), socket.gethostname()))
    start_ns = inbox.await_start()
    before_replay()
    began_ns, beside_ns = clock.now_ns(), _beside_ns()
    try:
        log = _replay(order, inbox, outbox, clock=clock, start_ns=start_ns)
    except (InputError, MeasurementRefusedError) as error:
        outbox.flush()
        outbox.say(Kind.REFUSED, (type(error).__name__, str(error)))
    else:
        outbox.flush()
        beside_ratio = (_beside_ns() - beside_ns) / max(1, clock.now_ns() - began_ns)
        outbox.say(Kind.LOG, _facts(log, beside_ratio))
    inbox.await_dismissal()


def _replay(order: Order, inbox: Inbox, outbox: Outbox, *, clock: Clock, start_ns: int) -> ReplayLog:
    shared: dict[str, Any] = {
        "timing": order.timing,
        "clock": clock,
        "dialect": order.dialect,
        "cpus": order.cpus,
        "stop": inbox.stop,
        "start_ns": start_ns,
        "feed": inbox,
        "sink": outbox,
        "monitor": inbox,
        "stays_awake": order.stays_awake,
    }
    match order.load:
        case OpenLoad() as load:
            return replay_open((), order.endpoint, load=load, **shared)
        case ClosedLoad() as load:
            return replay_closed((), order.endpoint, load=load, **shared)


def _beside_ns() -> int:
    """Return the CPU time of the threads beside this one: they take requests in and hand records out."""
    return time.process_time_ns() - time.thread_time_ns()


def _facts(log: ReplayLog, beside_ratio: float) -> dict[str, Any]:
    """Return a log, its records apart, as plain values; the threads beside the loop count to the client's CPU."""
    cpu_ratio = log.client_cpu_ratio
    return {
        "window": (log.window.start_ns, log.window.end_ns),
        "drained_ns": log.drained_ns,
        "loop_lag_ns": log.loop_lag_ns.tobytes(),
        "client_cpu_ratio": None if cpu_ratio is None else cpu_ratio + beside_ratio,
        "notes": dict(log.notes),
        "path": log.path.value,
        "early_stop": log.early_stop,
    }


def die_with_parent() -> None:
    """Have the kernel end this process when the one that started it is gone; elsewhere the closed pipe does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Serve on the descriptor that the command line names."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides what an interrupt means
    with socket.socket(fileno=int(sys.argv[1])) as sock:
        serve(sock, SystemClock())


if __name__ == "__main__":
    main()
