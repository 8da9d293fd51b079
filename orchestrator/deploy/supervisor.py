"""A small program that runs one engine and takes its whole process tree along, however its owner dies.

Standard library only, since it is run by file path in a process of its own. It reads one JSON line on stdin (an
`Order`), reports JSON lines on stdout, and takes the end of stdin for its owner's death. It never speaks to the engine.
"""

import contextlib
import ctypes
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.02
KILL_TIMEOUT_S = 5.0
RECORD_AFTER_S = (0.25, 0.5, 1.0, 2.0, 4.0)
RECORD_PERIOD_S = 10.0
ENDED_STATES = "ZX"


class Process(NamedTuple):
    """A process that cannot be mistaken for a later one: its pid and its start in clock ticks since boot."""

    pid: int
    start_ticks: int


class _Stat(NamedTuple):
    parent: int
    state: str
    start_ticks: int


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return _Stat(parent=int(fields[1]), state=fields[0], start_ticks=int(fields[19]))


def identify(pid: int) -> Process | None:
    """Return the running process of that pid, None where there is none or it is a zombie."""
    stat = _stat(pid)
    return None if stat is None or stat.state in ENDED_STATES else Process(pid, stat.start_ticks)


def is_running(process: Process) -> bool:
    """Say whether this very process still runs."""
    return identify(process.pid) == process


def descendants(pid: int) -> list[Process]:
    """List the running processes below `pid`, parents first."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    stats = {one: stat for one in pids if (stat := _stat(one))}
    children: dict[int, list[int]] = {}
    for child, stat in stats.items():
        children.setdefault(stat.parent, []).append(child)
    found: list[int] = list(children.get(pid, ()))
    for parent in found:
        found.extend(children.get(parent, ()))
    return [Process(one, stats[one].start_ticks) for one in found if stats[one].state not in ENDED_STATES]


def kernel_id() -> str:
    """Name this boot and process namespace: the scope in which a `Process` means one process."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def send_signal(processes: Sequence[Process], number: signal.Signals) -> None:
    """Send a signal to each process that is still the one meant."""
    for one in processes:
        with contextlib.suppress(ProcessLookupError):
            if is_running(one):
                os.kill(one.pid, number)


class Order(NamedTuple):
    """What to run: `state` is where the tree's pids are recorded, `cpus` pins the whole tree, empty for all cores."""

    argv: list[str]
    env: dict[str, str]
    folder: str
    log: str
    state: str
    cpus: list[int]
    owner: list[int]
    grace_s: float


def _report(**event: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(event).encode() + b"\n")


def _record(order: Order, processes: Sequence[Process]) -> None:
    state = Path(order.state)
    draft = state.with_suffix(".part")
    me = [os.getpid(), _own_start()]
    content = {"kernel": kernel_id(), "owner": order.owner, "supervisor": me, "processes": processes}
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(state)


def _own_start() -> int:
    stat = _stat(os.getpid())
    return stat.start_ticks if stat else 0


def _reap() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def _end_tree(grace_s: float) -> list[Process]:
    send_signal(descendants(os.getpid()), signal.SIGTERM)
    kill_at = time.monotonic() + grace_s
    give_up_at = kill_at + KILL_TIMEOUT_S
    while (left := descendants(os.getpid())) and time.monotonic() < give_up_at:
        if time.monotonic() >= kill_at:
            send_signal(left, signal.SIGKILL)
        time.sleep(POLL_S)
        list(_reap())
    return left


def _start(order: Order, libc: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - ctypes types no library
    supervisor = os.getpid()

    def die_with_supervisor() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)

    with Path(order.log).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - running the engine's command line is the purpose
            order.argv,
            env=order.env,
            cwd=order.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_supervisor,  # noqa: PLW1509 - this process has one thread
        )


def _owner_descriptor(owner: Process) -> int | None:
    # A second lease beside the pipe: a fork of the owner may hold the pipe's write end open for ever.
    try:
        descriptor = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        return None
    if is_running(owner):
        return descriptor
    os.close(descriptor)
    return None


def _record_times_s(began_s: float) -> Iterator[float]:
    # Engines start their workers early, and a scan of all processes is not free: soon often, later seldom.
    yield from (began_s + after for after in RECORD_AFTER_S)
    yield from itertools.count(began_s + RECORD_PERIOD_S, RECORD_PERIOD_S)


def _watch(order: Order, engine_pid: int, wakeup: int, owner: int) -> int | None:
    """Wait for the engine's end (its exit status) or the order to stop (None), recording the tree meanwhile."""
    poll = select.poll()
    for descriptor in (sys.stdin.fileno(), wakeup, owner):
        poll.register(descriptor, select.POLLIN)
    record_times_s = _record_times_s(time.monotonic())
    due = next(record_times_s)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, due - time.monotonic()) * 1000)}
        if ready & {sys.stdin.fileno(), owner}:
            return None
        if wakeup in ready and signal.SIGTERM in os.read(wakeup, 64):
            return None
        for pid, status in _reap():
            if pid == engine_pid:
                return status
        if time.monotonic() >= due:
            _record(order, descendants(os.getpid()))
            due = next(record_times_s)


def _supervise(order: Order, wakeup: int) -> int:
    owner = _owner_descriptor(Process(*order.owner))
    if owner is None:
        return 1
    if order.cpus:
        os.sched_setaffinity(0, order.cpus)
    began_ns = time.monotonic_ns()
    try:
        engine = _start(order, ctypes.CDLL(None))
    except OSError as error:
        _report(event="failed", reason=str(error))
        return 1
    started = descendants(os.getpid())
    _record(order, started)
    root = next((one for one in started if one.pid == engine.pid), Process(engine.pid, 0))
    _report(event="started", supervisor=os.getpid(), engine=root, began_ns=began_ns)
    status = _watch(order, engine.pid, wakeup, owner)
    if status is not None:
        _report(event="exited", status=status)
    left = _end_tree(order.grace_s)
    if not left:
        Path(order.state).unlink(missing_ok=True)
    _report(event="gone", left=left)
    return 0


def _read_order() -> Order:
    received = b""
    while not received.endswith(b"\n"):
        chunk = os.read(sys.stdin.fileno(), 1 << 16)
        if not chunk:
            sys.exit("expected one line of JSON on stdin, seen its end")
        received += chunk
    return Order(**json.loads(received))


def main() -> None:
    """Detach from the starter, run what stdin orders, and end once nothing of it runs."""
    order = _read_order()
    if os.fork():
        os._exit(0)
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    sys.stdout.flush()
    os._exit(_supervise(order, wakeup))


if __name__ == "__main__":
    main()
