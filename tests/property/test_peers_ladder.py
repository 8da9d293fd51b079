"""The search for a client's highest honest rate finds it, from below, whatever it is."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.bench.peers.ladder import FINE, FINE_STEPS, HIGHEST_RPS, LOWEST_RPS, Rung, climb

LIMITS = st.floats(LOWEST_RPS, HIGHEST_RPS)
HONEST = Rung(0.0, None, None, None)


def judged(rate_rps: float, limit_rps: float) -> Rung:
    return replace(HONEST, rate_rps=rate_rps, dishonest=None if rate_rps <= limit_rps else "late")


@given(LIMITS, st.sampled_from([50.0, 800.0]))
def test_the_highest_honest_rate_is_found_within_a_fine_step(limit_rps: float, first_rps: float) -> None:
    found = climb(lambda rate_rps: judged(rate_rps, limit_rps), first_rps)
    assert found.honest_rps is not None
    assert found.honest_rps <= limit_rps
    assert found.honest_rps * FINE * FINE > min(limit_rps, HIGHEST_RPS / FINE**FINE_STEPS)
    honest = [one.rate_rps for one in found.rungs if one.dishonest is None]
    assert max(honest) == found.honest_rps


@given(LIMITS)
def test_a_rate_is_given_up_only_when_it_was_dishonest_twice(limit_rps: float) -> None:
    tried: list[float] = []

    def run(rate_rps: float) -> Rung:
        tried.append(rate_rps)
        return judged(rate_rps, limit_rps if tried.count(rate_rps) > 1 else 0)

    found = climb(run, 50.0)
    assert found.honest_rps is not None
    assert found.honest_rps <= limit_rps
    assert all(tried.count(rate_rps) == 2 for rate_rps in tried)


def test_a_run_that_was_spoiled_is_not_held_against_the_client() -> None:
    spoiled = replace(HONEST, spoiled="the server was late itself")
    found = climb(lambda rate_rps: replace(spoiled, rate_rps=rate_rps), 50.0)
    assert (found.honest_rps, found.ended_by, len(found.rungs)) == (None, "the server was late itself", 1)
    found = climb(lambda rate_rps: replace(HONEST if rate_rps < 300 else spoiled, rate_rps=rate_rps), 50.0)
    assert found.honest_rps is not None
    assert 200 <= found.honest_rps < 300
    assert len({one.rate_rps for one in found.rungs}) == len(found.rungs)


def test_a_client_that_is_honest_nowhere_has_no_rate_and_a_reason() -> None:
    found = climb(lambda rate_rps: judged(rate_rps, 0), 50.0)
    assert found.honest_rps is None
    assert found.ended_by == "late"
    assert [one.rate_rps for one in found.rungs] == [50, 50, 25, 25, 12.5, 12.5]
