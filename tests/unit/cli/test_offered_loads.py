import pytest

from orchestrator.cli.offered_loads import LINEAR_STEPS, Ramp, loads_of, parse_cores, parse_ramp
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OpenLoad


def test_several_rates_are_loads_in_the_order_typed() -> None:
    assert loads_of("4,1,2.5", None, None) == tuple(OpenLoad(rate_rps=one) for one in (4, 1, 2.5))


def test_users_are_closed_loads() -> None:
    assert loads_of(None, "1,8", None) == (ClosedLoad(users=1), ClosedLoad(users=8))


def test_no_load_is_left_to_the_trace() -> None:
    assert loads_of(None, None, None) == ()


@pytest.mark.parametrize("text", ["", "0", "-1", "1,,2", "nan", "inf", "two"])
def test_a_rate_that_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--rate"):
        loads_of(text, None, None)


def test_half_a_user_is_refused() -> None:
    with pytest.raises(InputError, match="whole numbers"):
        loads_of(None, "1.5", None)


def test_two_kinds_of_load_are_refused() -> None:
    with pytest.raises(InputError, match="choose one of"):
        loads_of("1", "1", None)
    with pytest.raises(InputError, match="choose one of"):
        loads_of("1", None, Ramp(1, 2, 5))


def test_a_ramp_has_its_mean_as_its_load() -> None:
    ramp = parse_ramp("2:10")
    assert ramp == Ramp(2, 10, LINEAR_STEPS)
    assert loads_of(None, None, ramp) == (OpenLoad(rate_rps=6),)


def test_a_stair_begins_and_ends_at_the_rates_named() -> None:
    ramp = parse_ramp("1:5:3")
    assert ramp is not None
    arrivals = ramp.arrivals(30, 1.0)
    assert (arrivals.bin_s, arrivals.weights) == (10, (1, 3, 5))


def test_a_line_has_the_rate_of_each_steps_middle() -> None:
    arrivals = Ramp(0, 10, LINEAR_STEPS).arrivals(200, 0.0)
    assert (arrivals.cv, arrivals.bin_s) == (0.0, 1)
    assert arrivals.weights[0] == pytest.approx(0.025)
    assert sum(arrivals.weights) / LINEAR_STEPS == pytest.approx(5)


@pytest.mark.parametrize("text", ["1", "1:2:1", "1:2:999", "0:0", "-1:2", "a:b", "1:2:3:4", "nan:2", "1:inf"])
def test_a_ramp_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--ramp"):
        parse_ramp(text)


def test_cores_are_numbers() -> None:
    assert parse_cores("0,3") == (0, 3)
    assert parse_cores(None) is None
    with pytest.raises(InputError, match="--cpus"):
        parse_cores("0-3")
