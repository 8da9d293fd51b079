"""The coordinator beside workers that are no processes: they say what a test wants them to say."""

import asyncio
import time
from typing import Any

import pytest

from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog
from orchestrator.replay import PreparedRequest, Timing
from orchestrator.replay.workers import Crew, replay_shared
from orchestrator.replay.workers.channel import OnBytes, OnLost
from orchestrator.replay.workers.merging import UNSENT
from orchestrator.replay.workers.wire import Frames, Kind, read, spell

MS = 1_000_000
TIMING = Timing(0.0, 0.1, 0.1, 1.0)


class Idle:
    """A worker that sends nothing and comes to its end at once, its clock `ahead_ns` of ours."""

    def __init__(self, on_bytes: OnBytes, *, ahead_ns: int = 0, says: tuple[Kind, Any] | None = None) -> None:
        self._frames = Frames()
        self._on_bytes = on_bytes
        self._ahead_ns = ahead_ns
        self._says = says

    def send(self, data: bytes) -> None:
        for kind, payload in self._frames.cut(data):
            answer = self._answer(kind, payload)
            if answer is not None:
                asyncio.get_running_loop().call_soon(self._on_bytes, spell(*answer))

    async def close(self, *, kill: bool) -> str | None:
        del kill
        return None

    def _answer(self, kind: int, payload: bytes) -> tuple[Kind, Any] | None:
        match kind:
            case Kind.ORDER:
                return Kind.READY, (1, "elsewhere")
            case Kind.PING:
                return Kind.PONG, time.monotonic_ns() + self._ahead_ns
            case Kind.START:
                return self._says or (Kind.LOG, self._facts(read(payload)))
            case _:
                return None

    def _facts(self, start_ns: int) -> dict[str, Any]:
        return {
            "window": (start_ns, start_ns + 60 * MS),
            "drained_ns": start_ns + 60 * MS,
            "loop_lag_ns": b"",
            "client_cpu_ratio": None,
            "notes": {"exhausted": "so it says"},
            "path": "direct",
            "early_stop": None,
        }


def replay(**worker: Any) -> ReplayLog:
    async def launch(name: str, on_bytes: OnBytes, on_lost: OnLost) -> Idle:
        del name, on_lost
        return Idle(on_bytes, **worker)

    requests = [PreparedRequest(at, at * 10 * MS, b"{}", 3, 2) for at in range(10)]
    endpoint = Endpoint("http://127.0.0.1:1", "m")
    return replay_shared(requests, endpoint, load=OpenLoad(rate_rps=100), timing=TIMING, crew=Crew(2, launch=launch))


@pytest.mark.parametrize("ahead_ns", [0, 3_600_000 * MS])
def test_what_was_due_and_never_sent_is_there_as_cancelled_up_to_where_the_window_ended(ahead_ns: int) -> None:
    log = replay(ahead_ns=ahead_ns)
    assert [one.index for one in log.records] == [0, 1, 2, 3, 4, 5]
    assert {(one.failure_detail, one.sent_ns) for one in log.records} == {(UNSENT, None)}
    assert abs(log.window.end_ns - log.started_ns - 60 * MS) < 5 * MS, "translated to our clock"
    assert [one.num_requests for one in log.workers] == [3, 3]
    assert all(abs(one.clock_offset_ns - ahead_ns) <= one.clock_error_ns for one in log.workers)
    assert log.notes["worker-1.exhausted"] == "so it says"


def test_what_a_worker_refuses_is_raised_as_if_it_had_been_refused_here() -> None:
    with pytest.raises(InputError, match="no such host"):
        replay(says=(Kind.REFUSED, ("InputError", "no such host")))


def test_a_worker_that_tells_no_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = (Kind.READY, (1, "elsewhere"))
    monkeypatch.setattr(Idle, "_answer", lambda _self, kind, _payload: ready if kind == Kind.ORDER else None)
    monkeypatch.setattr("orchestrator.replay.workers.member.PING_LIMIT_S", 0.05)
    with pytest.raises(MeasurementRefusedError, match="worker-0 did not tell its time"):
        replay()
