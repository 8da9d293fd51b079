import pytest

from orchestrator.domain.load import OpenLoad
from orchestrator.metrics.saturation import OUTGREW, outgrown_at_s
from orchestrator.replay.saturation import SaturationMonitor
from tests.queue_model import Load, arrivals, drive, monitored, serve, service
from tests.unit.metrics.conftest import make_log, make_record

SECOND = 1_000_000_000


def test_a_load_of_three_times_the_capacity_is_given_up_soon() -> None:
    at_s, reason = monitored(Load("poisson", rate_rps=20, utilization=3.0, servers=8, seed=1), span_s=60)
    assert at_s is not None
    assert 9.9 <= at_s < 20
    assert reason is not None
    assert reason.startswith(f"{OUTGREW}: over ")
    assert "of 20 offered" in reason


def test_half_the_capacity_is_never_given_up() -> None:
    for seed in range(5):
        assert monitored(Load("poisson", rate_rps=5, utilization=0.5, servers=4, seed=seed), span_s=300)[0] is None


@pytest.mark.parametrize("pattern", ["on_off", "bursty"])
def test_bursts_that_come_and_go_are_not_given_up(pattern: str) -> None:
    for seed in range(4):
        assert monitored(Load(pattern, rate_rps=5, utilization=0.8, servers=8, seed=seed), span_s=300)[0] is None


@pytest.mark.parametrize("rate_rps", [5, 20])
def test_a_short_stall_is_not_given_up(rate_rps: float) -> None:
    for seed in range(4):
        load = Load("poisson", rate_rps=rate_rps, utilization=0.7, servers=8, seed=seed)
        assert monitored(load, span_s=100, stall_s=(40.0, 46.0))[0] is None


def test_nothing_is_said_before_there_is_evidence() -> None:
    at_s, _ = monitored(Load("constant", rate_rps=2, utilization=20.0, servers=1, seed=1), span_s=300)
    assert at_s is None or at_s >= 20 * 2.5


def test_a_server_that_fills_up_at_its_own_pace_is_not_overrun() -> None:
    monitor = SaturationMonitor(10.0)
    starts = [at / 10 for at in range(600)]
    ends = [(at, 0.05, at + 20.0) for at in starts]  # twenty seconds each: in flight rises to 200 and stays
    assert drive(monitor, ends, span_s=60) == (None, None)


def test_failures_that_come_at_once_are_no_queue() -> None:
    monitor = SaturationMonitor(10.0)
    assert drive(monitor, [(at / 10, None, at / 10 + 0.01) for at in range(600)], span_s=60) == (None, None)


def test_a_silent_server_is_not_overrun_but_dead() -> None:
    monitor = SaturationMonitor(10.0)
    never = [(at / 10, None, 1e6) for at in range(600)]
    assert drive(monitor, never, span_s=60) == (None, None)


def test_ends_from_before_the_window_count_for_nothing() -> None:
    monitor = SaturationMonitor(10.0)
    monitor.ended(intended_ns=0, ttft_ns=SECOND, end_ns=SECOND)
    assert monitor.give_up(2 * SECOND, 5) is None
    monitor.ended(intended_ns=0, ttft_ns=SECOND, end_ns=SECOND + 1)
    assert monitor.give_up(3 * SECOND, 5) is None


def test_a_loop_that_was_held_up_leaves_no_hole() -> None:
    monitor = SaturationMonitor(10.0)
    assert monitor.give_up(0, 5) is None
    monitor.ended(intended_ns=0, ttft_ns=SECOND, end_ns=3 * SECOND)
    assert monitor.give_up(9 * SECOND, 7) is None
    monitor.ended(intended_ns=0, ttft_ns=SECOND, end_ns=4 * SECOND)  # told late, as another process does
    assert monitor.give_up(60 * SECOND, 7) is None


def test_the_model_queue_is_one() -> None:
    load = Load("constant", rate_rps=1, utilization=2.0, servers=1, seed=0)
    came = arrivals(load, 5.0)
    began, ended = serve(came, service(load, came.size), servers=1)
    assert (began[1:] >= ended[:-1] - 1e-9).all()


def test_what_lies_before_the_shortest_queue_is_forgotten() -> None:
    monitor = SaturationMonitor(10.0)
    for at, in_flight in enumerate((5, 7, 9, 4, 6, 4, 8)):
        monitor.ended(intended_ns=0, ttft_ns=SECOND, end_ns=at * SECOND // 2 + 1)
        monitor.give_up(at * SECOND // 2, in_flight)
    assert monitor._in_flight == [4, 8]
    assert monitor._ended == [1, 1]
    assert monitor._start_ns == 5 * SECOND // 2


def test_a_monitor_sees_what_the_records_show_afterwards() -> None:
    load = Load("poisson", rate_rps=5, utilization=1.5, servers=4, seed=3)
    at_s, _ = monitored(load, span_s=60)
    came = arrivals(load, 65.0)
    began, ended = serve(came, service(load, came.size), servers=4)
    waits = began - came + 0.1 * service(load, came.size)
    records = [
        make_record(at, intended_ms=arrival * 1000, chunks_ms=(wait * 1000, (end - arrival) * 1000))
        for at, (arrival, wait, end) in enumerate(zip(came, waits, ended, strict=True))
    ]
    log = make_log(records, window_ms=(5_000, 65_000), load=OpenLoad(rate_rps=5.0))
    assert at_s == pytest.approx(outgrown_at_s(log), abs=1.1)
