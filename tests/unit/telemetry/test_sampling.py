import io
import json
from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.telemetry.reading import GapError, Reading, unit_of
from orchestrator.telemetry.sampling import Sink, look, next_tick_ns

NS_PER_S = 1_000_000_000


class Steady:
    name: ClassVar[str] = "steady"

    def read(self) -> Reading:
        return Reading(42, {"host_cpu_cores": 1.5})


class Broken:
    name: ClassVar[str] = "broken"

    def read(self) -> Reading:
        raise GapError("refused")


def test_a_look_writes_what_was_seen() -> None:
    file = io.StringIO()
    look(Steady(), Sink(file), interval_ns=NS_PER_S)
    assert json.loads(file.getvalue()) == {"from": "steady", "t": 42, "v": {"host_cpu_cores": 1.5}}


def test_a_gap_is_written_as_a_gap() -> None:
    file = io.StringIO()
    look(Broken(), Sink(file), interval_ns=NS_PER_S)
    assert json.loads(file.getvalue()) == {"gap": "broken", "reason": "refused"}


def test_a_look_longer_than_the_interval_is_noted() -> None:
    file = io.StringIO()
    look(Steady(), Sink(file), interval_ns=0)
    assert json.loads(file.getvalue().splitlines()[1])["slow"] == "steady"


@given(due=st.integers(0, 10**15), late=st.integers(-(10**9), 10**12), interval=st.integers(1, 10**9))
def test_ticks_stay_on_the_grid_and_ahead(due: int, late: int, interval: int) -> None:
    now = due + late
    following = next_tick_ns(due, now, interval_ns=interval)
    assert (following - due) % interval == 0
    assert following > max(now, due)
    assert following - max(now, due) <= interval


def test_a_device_index_does_not_change_the_unit() -> None:
    assert unit_of("device_memory_bytes.3") == unit_of("device_memory_bytes") == "bytes"
    assert unit_of("engine_ttft.sum") is None
