"""Twelve ways to spoil a measurement, each done to a real replay against a simulated engine, and the verdict on it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from orchestrator.domain.fidelity import Fidelity
from tests.ruler import client_faults, path_faults, worker_faults


class Sabotage(NamedTuple):
    """What is done, and words that stand in the reasons if it was seen for what it is."""

    run: Callable[[int, Path], Fidelity]
    says: str


SABOTAGES: Mapping[str, Sabotage] = {
    "client on a tenth of a core": Sabotage(client_faults.client_on_a_tenth_of_a_core, "lag"),
    "busy thread in the client": Sabotage(client_faults.busy_thread, "lag"),
    "pool of ten connections": Sabotage(client_faults.pool_of_ten, "lag"),
    "timer of 15 ms": Sabotage(client_faults.timer_of_15_ms, "dispatch lag"),
    "sleep after each send": Sabotage(client_faults.sleep_after_each_send, "dispatch lag"),
    "forced garbage collection": Sabotage(client_faults.forced_collections, "event-loop lag"),
    "load worker started late": Sabotage(worker_faults.late_worker, "after the common start"),
    "load worker killed": Sabotage(worker_faults.killed_worker, "was lost"),
    "clocks 50 ms apart": Sabotage(worker_faults.clocks_apart, "the clock of load worker"),
    "late against the engine's log": Sabotage(path_faults.late_against_the_engines_own_log, "the engine's own"),
    "proxy that buffers": Sabotage(path_faults.buffering_proxy, "came whole"),
    "stalled disk": Sabotage(path_faults.stalled_disk, "to be written"),
}
