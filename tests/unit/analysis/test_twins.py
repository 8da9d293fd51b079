from array import array

import numpy as np
import pytest

from orchestrator.analysis.twins import Samples, compare_replays, samples_of
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord, Window


def a_record(index: int, sent_ns: int, first_ns: int, end_ns: int) -> RequestRecord:
    return RequestRecord(
        index=index,
        intended_ns=sent_ns,
        dispatched_ns=sent_ns,
        sent_ns=sent_ns,
        chunk_ns=array("q", [first_ns, end_ns]),
        end_ns=end_ns,
        input_tokens=5,
        output_tokens_asked=2,
        output_tokens_client=2,
    )


def a_log(*records: RequestRecord) -> ReplayLog:
    return ReplayLog(
        load=OpenLoad(rate_rps=1.0),
        records=records,
        started_ns=0,
        window=Window(0, 10**12),
        drained_ns=10**12,
        loop_lag_ns=array("q"),
        client_cpu_ratio=None,
    )


def drawn(seed: int, shift_s: float = 0.0, size: int = 400) -> Samples:
    draws = np.random.default_rng(seed)
    return Samples(draws.exponential(0.2, size) + shift_s, draws.exponential(0.02, 4 * size), draws.poisson(3, size))


def test_samples_are_latencies_and_the_requests_in_flight_at_each_arrival() -> None:
    log = a_log(
        a_record(0, 0, 10**9, 4 * 10**9),
        a_record(1, 10**9, 3 * 10**9, 5 * 10**9),
        a_record(2, 6 * 10**9, 7 * 10**9, 8 * 10**9),
    )
    samples = samples_of(log)
    assert samples.ttft_s.tolist() == [1.0, 2.0, 1.0]
    assert samples.itl_s.tolist() == [3.0, 2.0, 1.0]
    assert samples.in_flight.tolist() == [0.0, 1.0, 0.0]


def test_a_twin_from_the_same_process_is_as_near_as_repeats_are() -> None:
    found = compare_replays([drawn(seed) for seed in range(5)], drawn(9))
    assert [one.figure for one in found] == ["ttft_s", "itl_s", "in_flight"]
    assert all(one.passes for one in found)


def test_a_twin_with_later_first_tokens_is_told_apart_by_that_figure_alone() -> None:
    found = {one.figure: one for one in compare_replays([drawn(seed) for seed in range(5)], drawn(9, shift_s=0.1))}
    assert not found["ttft_s"].passes
    assert found["itl_s"].passes


def test_a_figure_without_samples_is_left_out() -> None:
    bare = [drawn(seed)._replace(itl_s=np.array([])) for seed in range(3)]
    assert [one.figure for one in compare_replays(bare, drawn(9))] == ["ttft_s", "in_flight"]


def test_two_repeats_say_nothing_of_their_spread() -> None:
    with pytest.raises(ValueError, match="at least 3 repeats"):
        compare_replays([drawn(0), drawn(1)], drawn(2))
