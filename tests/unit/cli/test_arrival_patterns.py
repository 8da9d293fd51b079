from pathlib import Path

import numpy as np
import pytest

from orchestrator.cli.arrival_patterns import Pattern, with_arrivals
from orchestrator.cli.offered_loads import Ramp
from orchestrator.domain.errors import InputError
from workloads.schedule import Schedule, build_open_schedule
from workloads.synthesis.knobs import Knobs
from workloads.workload import FixedSource, ProfileSource, PublishedSource, Source, TraceSource, Workload

FIXED = FixedSource(input_tokens=8, output_tokens=4)


def schedule_of(source: Source, *, rate: float, duration: float) -> Schedule:
    return build_open_schedule(Workload(source=source), rate_rps=rate, duration_s=duration)


def gaps_of(schedule: Schedule) -> np.ndarray:
    assert schedule.intended_ns is not None
    return np.diff(schedule.intended_ns) / 1e9


def test_nothing_asked_changes_nothing() -> None:
    source = PublishedSource(name="chat")
    assert with_arrivals(source, None, cv=None, ramp=None, duration_s=10) is source


@pytest.mark.parametrize("pattern", ["constant", "poisson"])
def test_fixed_requests_keep_their_source(pattern: Pattern) -> None:
    source = with_arrivals(FIXED, pattern, cv=None, ramp=None, duration_s=10)
    assert source == FixedSource(input_tokens=8, output_tokens=4, pattern=pattern)


def test_gamma_gaps_have_the_cv_asked_for() -> None:
    source = with_arrivals(FIXED, "gamma", cv=3.0, ramp=None, duration_s=10)
    schedule = schedule_of(source, rate=50, duration=200)
    gaps = gaps_of(schedule)
    assert gaps.std() / gaps.mean() == pytest.approx(3.0, rel=0.1)
    assert set(schedule.input_tokens) == {8}
    assert set(schedule.output_tokens) == {4}


def test_published_requests_can_arrive_evenly_from_the_start() -> None:
    source = with_arrivals(PublishedSource(name="chat"), "constant", cv=None, ramp=None, duration_s=10)
    schedule = schedule_of(source, rate=10, duration=3)
    assert schedule.intended_ns is not None
    assert schedule.intended_ns.tolist() == [index * 100_000_000 for index in range(30)]
    assert len(set(schedule.input_tokens)) > 5


def test_a_ramp_rises_as_named() -> None:
    source = with_arrivals(FIXED, "constant", cv=None, ramp=Ramp(10, 30, 200), duration_s=40)
    schedule = schedule_of(source, rate=20, duration=40)
    assert schedule.intended_ns is not None
    counts = np.histogram(schedule.intended_ns / 1e9, bins=[0, 10, 20, 30, 40])[0]
    assert counts.tolist() == pytest.approx([125, 175, 225, 275], abs=1)


def test_a_ramp_keeps_to_the_loads_own_time() -> None:
    """A profile's own rate would otherwise run its arrivals faster, and the ramp again and again."""
    profile = with_arrivals(FIXED, "gamma", cv=1.5, ramp=None, duration_s=1)
    assert isinstance(profile, ProfileSource)
    assert profile.traffic is not None
    measured = ProfileSource(traffic=profile.traffic.model_copy(update={"rate_rps": 2.0, "span_s": 60.0}))
    source = with_arrivals(measured, "constant", cv=None, ramp=Ramp(10, 30, 200), duration_s=40)
    schedule = schedule_of(source, rate=20, duration=40)
    assert schedule.intended_ns is not None
    assert np.histogram(schedule.intended_ns / 1e9, bins=[0, 20, 40])[0].tolist() == pytest.approx([300, 500], abs=2)


@pytest.mark.parametrize(
    ("pattern", "cv", "expected"),
    [("gamma", None, "needs --cv"), ("poisson", 2.0, "--cv goes with"), (None, 2.0, "--cv goes with")],
)
def test_a_cv_belongs_to_its_patterns(pattern: Pattern | None, cv: float | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        with_arrivals(FIXED, pattern, cv=cv, ramp=None, duration_s=10)


def test_a_trace_keeps_its_times() -> None:
    source = TraceSource(path=Path("trace.csv"))
    with pytest.raises(InputError, match="its own times"):
        with_arrivals(source, "poisson", cv=None, ramp=None, duration_s=10)


def test_knobs_that_would_be_lost_are_refused() -> None:
    source = PublishedSource(name="chat", knobs=Knobs(burstiness=2.0))
    with pytest.raises(InputError, match="burstiness"):
        with_arrivals(source, "constant", cv=None, ramp=None, duration_s=10)
