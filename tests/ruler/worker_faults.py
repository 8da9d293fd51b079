"""Faults of load workers: one that starts late, one that is killed, one whose clock is another."""

import asyncio
from pathlib import Path

from orchestrator.domain.fidelity import Fidelity
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.metrics.fidelity import judge
from orchestrator.replay.session import Timing
from orchestrator.replay.workers import Crew, Launch, replay_shared
from orchestrator.replay.workers.channel import Channel, OnBytes, OnLost, ProcessChannel, launch_process
from orchestrator.replay.workers.coordinator import LEAD_NS
from orchestrator.replay.workers.wire import HEAD, Kind
from tests.ruler.loads import MEASURE_S, NS_PER_S, RATE_RPS, WARMUP_S, dialect, endpoint, requests, steady
from tests.ruler.programs import cores

LATE_START_S = 1.2
CLOCK_MS = 50


def late_worker(port: int, folder: Path) -> Fidelity:
    del folder
    return judge(_shared(port, _faulty(late_s=LATE_START_S)))


def killed_worker(port: int, folder: Path) -> Fidelity:
    del folder

    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> Channel:
        channel = await launch_process(name, on_bytes, on_lost)
        return Doomed(channel) if name.endswith("1") else channel

    return judge(_shared(port, launch))


class Doomed:
    """A channel whose worker is killed in the middle of the window."""

    def __init__(self, channel: ProcessChannel) -> None:
        self._channel = channel

    def send(self, data: bytes) -> None:
        self._channel.send(data)
        if HEAD.unpack_from(data)[1] == Kind.START:
            delay_s = LEAD_NS / NS_PER_S + WARMUP_S + MEASURE_S / 2
            asyncio.get_running_loop().call_later(delay_s, self._channel.process.kill)

    async def close(self, *, kill: bool) -> str | None:
        return await self._channel.close(kill=kill)


def clocks_apart(port: int, folder: Path) -> Fidelity:
    del folder
    return judge(_shared(port, _faulty(clock_ms=CLOCK_MS)))


def _faulty(*, late_s: float = 0.0, clock_ms: float = 0.0) -> Launch:
    """Start the second worker with a fault."""

    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> ProcessChannel:
        if not name.endswith("1"):
            return await launch_process(name, on_bytes, on_lost)
        program = ("-m", "tests.ruler.worker", str(late_s), str(clock_ms))
        return await launch_process(name, on_bytes, on_lost, program=program)

    return launch


def _shared(port: int, launch: Launch) -> ReplayLog:
    offsets_s = steady(RATE_RPS)(WARMUP_S + MEASURE_S, None)
    return replay_shared(
        requests(offsets_s, tokens=16, route="completions"),
        endpoint(port),
        load=OpenLoad(rate_rps=RATE_RPS),
        timing=Timing(WARMUP_S, MEASURE_S, 0.5, 10.0),
        crew=Crew(2, cpus=cores()[0], launch=launch),
        dialect=dialect("completions"),
    )
