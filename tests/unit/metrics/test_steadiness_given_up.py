from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.metrics.given_up import promise
from orchestrator.metrics.saturation import OUTGREW
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.metrics.window import issued_in

Make = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]
SLO = Slo(ttft_s=0.1)
FACTS = MeasurementFacts(
    trial_digest="t",
    schedule_digest="s",
    content="english",
    length_scale=None,
    cache_policy="salted",
    is_simulated=False,
    started_at="2030-01-01T00:00:00+00:00",
    warmup_s=2.0,
    stop="forced",
    measure_s=50.0,
)


@pytest.fixture
def given_up(record: Make, log: MakeLog) -> ReplayLog:
    """Ten of fifty declared seconds at 10 requests/s: forty kept the SLO, forty were slow, twenty failed."""
    quick = [record(at, intended_ms=at * 100) for at in range(40)]
    slow = [record(at, intended_ms=at * 100, chunks_ms=(200.0, 210.0)) for at in range(40, 80)]
    cancelled = [
        record(at, intended_ms=at * 100, chunks_ms=(), failure=RequestFailure.CANCELLED) for at in range(80, 100)
    ]
    return log([*quick, *slow, *cancelled], load=OpenLoad(rate_rps=10.0), early_stop=f"{OUTGREW}: over 9 s")


def test_what_was_not_offered_any_more_counts_as_missed(given_up: ReplayLog) -> None:
    issued = issued_in(given_up.records, given_up.window)
    seen = promise(given_up, issued, SLO, declared_s=50.0)
    assert seen.slo_attainment == pytest.approx(40 / 500)
    assert seen.goodput_rps == pytest.approx(40 / 50)


def test_without_the_declared_window_nothing_is_claimed(given_up: ReplayLog) -> None:
    issued = issued_in(given_up.records, given_up.window)
    assert promise(given_up, issued, SLO, declared_s=None) == (None, None)
    assert promise(given_up, issued, None, declared_s=50.0) == (None, None)


def test_a_whole_window_is_judged_by_itself(given_up: ReplayLog) -> None:
    whole = replace(given_up, early_stop=None)
    seen = promise(whole, issued_in(whole.records, whole.window), SLO, declared_s=50.0)
    assert seen == (pytest.approx(4.0), pytest.approx(0.4))


def test_a_summary_keeps_what_was_measured_and_says_why_it_ended(given_up: ReplayLog) -> None:
    one = summarise(given_up, FACTS, slo=SLO)
    assert one.window_s == 10.0
    assert (one.num_issued, one.num_failed) == (100, 20)
    assert one.ttft_s.count == 80
    assert one.slo_attainment == pytest.approx(40 / 500)
    assert one.steadiness is not None
    assert one.steadiness.oversaturated_at_s == 10.0
    assert one.steadiness.given_up is not None


def test_a_load_that_was_given_up_stands_for_no_whole_one(given_up: ReplayLog) -> None:
    digests = {summarise(one, FACTS, slo=SLO).digest for one in (given_up, replace(given_up, early_stop=None))}
    assert len(digests) == 2
