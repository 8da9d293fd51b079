"""Ends what a dead owner left behind, by recorded pid and start time; never by name, never what somebody still owns."""

import json
import signal
import time
from pathlib import Path

from orchestrator.deploy.lease import DEFAULT_GRACE_S, STATE_NAME
from orchestrator.deploy.supervisor import KILL_TIMEOUT_S, Process, is_running, kernel_id, send_signal

POLL_S = 0.02


def sweep(folder: Path) -> tuple[Process, ...]:
    """End recorded engines below `folder` whose owner is dead and return every process that had to be ended.

    Records of other machines, other boots and living owners are left alone.
    """
    ended: list[Process] = []
    for state in sorted(folder.rglob(STATE_NAME)):
        recorded = json.loads(state.read_text(encoding="utf-8"))
        if recorded["kernel"] != kernel_id() or is_running(Process(*recorded["owner"])):
            continue
        ended.extend(_end(Process(*recorded["supervisor"]), read_processes(state)))
        state.unlink(missing_ok=True)
    return tuple(ended)


def read_processes(state: Path) -> list[Process]:
    """Return the processes that a supervisor recorded there; none where the record is gone or of another machine."""
    try:
        recorded = json.loads(state.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [Process(*one) for one in recorded["processes"]] if recorded["kernel"] == kernel_id() else []


def _end(supervisor: Process, processes: list[Process]) -> list[Process]:
    found = [one for one in (supervisor, *processes) if is_running(one)]
    send_signal([supervisor], signal.SIGTERM)
    await_end([supervisor], DEFAULT_GRACE_S + KILL_TIMEOUT_S)
    kill(found)
    return found


def kill(processes: list[Process]) -> list[Process]:
    """Send SIGKILL to those that still run and return those that run even then."""
    send_signal(processes, signal.SIGKILL)
    return await_end(processes, KILL_TIMEOUT_S)


def await_end(processes: list[Process], timeout_s: float) -> list[Process]:
    """Wait until none of them runs and return those that still do."""
    deadline_s = time.monotonic() + timeout_s
    while (left := [one for one in processes if is_running(one)]) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    return left
