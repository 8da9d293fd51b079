"""Calibrates the client against a server that does nothing but answer on time: its floor, its highest honest rate."""

import os
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import NS_PER_S, Clock, utc_now
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.replay.calibration.null_process import MAX_PROCESSES, NullServer, Script
from orchestrator.replay.calibration.probe import P99, Probe, measure_client
from orchestrator.replay.calibration.search import HIGHEST_RPS, Ceiling, find_ceiling

FLOOR_RPS = 250.0
FLOOR_MEASURE_S = 1.6  # 400 requests: enough for a P99 with an interval of its own
MEASURE_S = 0.4
STUDY_BUDGET_S = 5.0
LATE_NOTE = "the null server was itself late while the floor was taken, so the floor is too high"


def calibrate(
    clock: Clock,
    *,
    cpus: Sequence[int] | None = None,
    engine_cpus: Sequence[int] | None = None,
    budget_s: float = STUDY_BUDGET_S,
    measure_s: float = MEASURE_S,
    highest_rps: float = HIGHEST_RPS,
) -> Calibration:
    """Measure one client process on the given cores against a null server beside it.

    The floor is taken at 250 requests/s, 16 chunks an answer, as the absolute difference between what the client
    reports and what the server did. Then the highest honest rate is searched for `budget_s` seconds, each look
    `measure_s` long, up to `highest_rps`. The null server gets `engine_cpus` less the client's, else whatever the
    client leaves; where nothing is left they share, and a note says so.

    Raises:
        InputError: the cores are not to be had.
        MeasurementRefusedError: the null server does not start or answer, or no request came through at all.
    """
    server_cpus = place_server(cpus, engine_cpus)
    with NullServer(Script(), cpus=server_cpus) as server:
        floor = measure_client(server, FLOOR_RPS, measure_s=FLOOR_MEASURE_S, cpus=cpus)
        deadline_ns = clock.now_ns() + round(budget_s * NS_PER_S)
        ceiling = find_ceiling(
            partial(measure_client, server, measure_s=measure_s, cpus=cpus),
            has_time=lambda: clock.now_ns() < deadline_ns,
            highest_rps=highest_rps,
        )
    return _calibration(floor, ceiling, cpus=cpus, server_cpus=server_cpus, at=utc_now(clock))


def place_server(cpus: Sequence[int] | None, engine_cpus: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the null server's cores: the engine's that the client leaves alone, else any; None where none are left."""
    if sys.platform != "linux":
        return None
    engine, allowed = set(engine_cpus or ()), os.sched_getaffinity(0)
    if cpus is None:
        chosen = allowed & engine
    else:
        free = allowed - set(cpus)
        chosen = free & engine or free
    return tuple(sorted(chosen))[:MAX_PROCESSES] or None


def _calibration(
    floor: Probe, ceiling: Ceiling, *, cpus: Sequence[int] | None, server_cpus: tuple[int, ...] | None, at: str
) -> Calibration:
    if not floor.ttft_error_s.size:
        raise MeasurementRefusedError(
            f"the client cannot be calibrated: at {floor.rate_rps:g} requests/s no answer of the null server came back "
            "whole; is loopback blocked, or the machine overloaded?"
        )
    best = ceiling.best
    return Calibration(
        ttft_floor_p50_s=float(np.median(floor.ttft_error_s)),
        ttft_floor_p99_s=float(np.percentile(floor.ttft_error_s, P99)),
        itl_error_p99_s=float(np.percentile(floor.itl_error_s, P99)),
        max_rps=best.rate_rps if best else 0.0,
        max_chunks_per_s=best.chunks_per_s if best else 0.0,
        is_ceiling=ceiling.limited_by == "client",
        measured_at=at,
        floor_rps=floor.rate_rps,
        limited_by=ceiling.limited_by,
        client_cpus=tuple(cpus) if cpus is not None else None,
        server_cpus=server_cpus,
        notes=tuple(_notes(floor, cpus=cpus, server_cpus=server_cpus)),
    )


def _notes(floor: Probe, *, cpus: Sequence[int] | None, server_cpus: tuple[int, ...] | None) -> list[str]:
    notes = []
    if floor.verdict == "null_server":
        notes.append(LATE_NOTE)
    if cpus is None or server_cpus is None:
        notes.append("client and null server were not kept on cores of their own, so each may have slowed the other")
    return notes
