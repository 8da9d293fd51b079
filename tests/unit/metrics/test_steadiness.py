from collections.abc import Callable, Sequence

import numpy as np
import pytest

from orchestrator.domain.load import ClosedLoad, OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.metrics.saturation import OUTGREW
from orchestrator.metrics.steadiness import correlation_time, drift_p_value, steadiness, transient
from orchestrator.metrics.window import issued_in

Make = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]
GAP_MS = 100


@pytest.fixture
def search(record: Make, log: MakeLog) -> Callable[..., object]:
    """Search a window of requests, one each 100 ms, of the given times to first token."""

    def run(ttfts_ms: Sequence[float], **changes: object) -> object:
        records = [record(at, intended_ms=at * GAP_MS, chunks_ms=(ttft, ttft + 10)) for at, ttft in enumerate(ttfts_ms)]
        made = log(records, window_ms=(0, len(records) * GAP_MS), **changes)
        return steadiness(made, issued_in(made.records, made.window))

    return run


def test_too_few_requests_tell_nothing(search: Callable[..., object]) -> None:
    found = search([50.0] * 29)
    assert (found.is_steady, found.transient_s, found.oversaturated_at_s, found.given_up) == (None, None, None, None)


def test_a_constant_latency_is_steady_from_the_start(search: Callable[..., object]) -> None:
    found = search([50.0] * 60)
    assert (found.is_steady, found.transient_s) == (True, 0.0)


def test_a_slow_start_is_cut_and_the_rest_is_steady(search: Callable[..., object]) -> None:
    noise = np.random.default_rng(1).exponential(5, size=300)
    found = search([50 + noise[at] + 400 * np.exp(-at / 12) for at in range(300)])
    assert found.is_steady is True
    assert 1.5 <= found.transient_s <= 8


def test_a_drift_is_no_transient(search: Callable[..., object]) -> None:
    noise = np.random.default_rng(2).exponential(20, size=300)
    assert search([50 + 0.5 * at + noise[at] for at in range(300)]).is_steady is False


def test_requests_that_hang_together_too_closely_tell_nothing() -> None:
    steps = np.random.default_rng(3).standard_normal(200)
    assert drift_p_value(np.cumsum(steps)) is None


def test_noise_alone_is_not_cut() -> None:
    generator = np.random.default_rng(4)
    assert np.mean([transient(generator.exponential(size=200)) > 0 for _ in range(100)]) < 0.06


def test_a_correlation_time_is_that_of_the_process() -> None:
    generator = np.random.default_rng(5)
    steps = generator.standard_normal(20_000)
    values = np.zeros(20_000)
    for at in range(1, values.size):
        values[at] = 0.8 * values[at - 1] + steps[at]
    assert correlation_time(values) == pytest.approx(9, rel=0.2)  # (1 + phi) / (1 - phi)
    assert correlation_time(steps) == pytest.approx(1, abs=0.15)
    assert correlation_time(np.ones(10)) == 1.0


def _overrun(record: Make, count: int) -> list[RequestRecord]:
    """Ten requests a second at a server that ends six: each waits 67 ms longer than the one before."""
    return [
        record(at, intended_ms=at * 100, chunks_ms=(50 + at * 200 / 3, 60 + at * 200 / 3), end_ns=None)
        for at in range(count)
    ]


def _ended(records: list[RequestRecord]) -> list[RequestRecord]:
    for one in records:
        object.__setattr__(one, "end_ns", one.chunk_ns[-1])
    return records


def test_a_load_that_outgrew_the_server_is_seen_without_a_monitor(record: Make, log: MakeLog) -> None:
    made = log(_ended(_overrun(record, 600)), window_ms=(0, 60_000))
    found = steadiness(made, issued_in(made.records, made.window))
    assert found.is_steady is False
    assert found.transient_s is None
    assert found.given_up is None
    assert 10 <= found.oversaturated_at_s <= 25


def test_a_closed_loop_never_outgrows_its_server(record: Make, log: MakeLog) -> None:
    made = log(_ended(_overrun(record, 600)), window_ms=(0, 60_000), load=ClosedLoad(users=8))
    assert steadiness(made, issued_in(made.records, made.window)).oversaturated_at_s is None


def test_a_load_that_was_given_up_says_when_and_why(record: Make, log: MakeLog) -> None:
    reason = f"{OUTGREW}: over 12 s"
    made = log([record(0)], window_ms=(0, 12_500), load=OpenLoad(rate_rps=10.0), early_stop=reason)
    found = steadiness(made, issued_in(made.records, made.window))
    assert (found.oversaturated_at_s, found.given_up, found.is_steady) == (12.5, reason, False)


def test_lost_workers_are_not_the_loads_fault(record: Make, log: MakeLog) -> None:
    made = log([record(0)], early_stop="all load workers were lost: worker-0: killed")
    found = steadiness(made, issued_in(made.records, made.window))
    assert (found.oversaturated_at_s, found.given_up) == (None, None)
