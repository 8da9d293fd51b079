from typing import Any

import pytest

from workloads.profile.arrivals.model import ArrivalProfile, Evidence, Verdict
from workloads.profile.lengths.model import Lengths
from workloads.profile.model import TraceFigures, Trait
from workloads.profile.people.model import ClientProfile, Concurrency, Quantiles, SessionProfile
from workloads.profile.reuse.model import Prefix
from workloads.profile.traits import read_traits

SHORT = "short requests, many at once"
SHARED = "long prompts with shared beginnings"
BURSTY = "bursty arrivals with a high peak over the mean"
TAILED = "heavy-tailed lengths"
TURNS = "conversations of several turns"
DOMINATED = "a few clients send most of it"
DECODE = "answers longer than prompts (decode-bound)"
PREFILL = "prompts far longer than answers (prefill-bound)"
ON_OFF = "traffic that switches on and off"


def lengths(p50: float, *, mean: float | None = None, p99: float | None = None) -> Lengths:
    tail = p99 if p99 is not None else 2 * p50
    return Lengths(mean=mean or p50, p50=p50, p90=p50, p95=p50, p99=tail, max=int(tail), min=0)


def arrivals(kind: str = "poisson", *, peak: float | None = 1.2, fano: float | None = 1.0) -> ArrivalProfile:
    evidence = (Evidence(name="count autocorrelation at 1 s", value=0.76, says="counts go together"),)
    verdict = Verdict.model_construct(kind=kind, sentence="", evidence=evidence, model=None)
    return ArrivalProfile.model_construct(peak_over_mean={"60": peak}, fano={"60": fano, "10": fano}, verdict=verdict)


def figures(**changes: Any) -> TraceFigures:
    plain: dict[str, Any] = {
        "rate_rps": None,
        "answered_input_tokens": lengths(2000),
        "answered_output_tokens": lengths(300),
        "arrivals": arrivals(),
        "prefix": None,
        "sessions": None,
        "clients": None,
        "concurrency": None,
    }
    return TraceFigures.model_construct(**{**plain, **changes})


def traits(**changes: Any) -> dict[str, Trait]:
    return {trait.name: trait for trait in read_traits(figures(**changes))}


def in_flight(p50: float) -> Concurrency:
    return Concurrency(source="measured", latency_model=None, mean=p50, p50=p50, p99=p50, peak=9, peak_at_s=0)


def prefix(token_reuse_ratio: float) -> Prefix:
    return Prefix.model_construct(token_reuse_ratio=token_reuse_ratio)


def sessions(multi_turn_ratio: float) -> SessionProfile:
    turns = Quantiles(mean=2, p50=2, p90=2, p99=2, max=2)
    return SessionProfile.model_construct(multi_turn_ratio=multi_turn_ratio, turns=turns)


def clients(num_clients: int, num_for_half: int) -> ClientProfile:
    return ClientProfile.model_construct(num_clients=num_clients, num_for_half=num_for_half, top_1_share=0.3)


def test_ordinary_traffic_has_no_traits() -> None:
    assert traits() == {}


def test_where_no_request_was_answered_nothing_is_said_of_lengths() -> None:
    assert traits(answered_input_tokens=None, answered_output_tokens=None, prefix=prefix(0.9), rate_rps=100.0) == {}


def test_short_requests_and_many_in_flight_are_named_with_their_figures() -> None:
    found = traits(answered_input_tokens=lengths(500), concurrency=in_flight(8))
    assert found[SHORT].figures == {"input_tokens_p50": 500, "concurrency_p50": 8}
    assert SHORT not in traits(answered_input_tokens=lengths(500), concurrency=in_flight(2), rate_rps=100.0)
    assert SHORT not in traits(answered_input_tokens=lengths(1500), concurrency=in_flight(8))


def test_without_service_times_the_rate_says_how_many_are_in_flight_at_least() -> None:
    found = traits(answered_input_tokens=lengths(500), rate_rps=5.0)
    assert found[SHORT].figures["least_in_flight"] == pytest.approx(5 * 300 * 0.005)
    assert SHORT not in traits(answered_input_tokens=lengths(500), rate_rps=1.0)
    assert SHORT not in traits(answered_input_tokens=lengths(500))


def test_long_shared_prompts_need_both_length_and_sharing() -> None:
    found = traits(answered_input_tokens=lengths(6000), prefix=prefix(0.37))
    assert found[SHARED].figures == {"input_tokens_p50": 6000, "token_reuse_ratio": 0.37}
    assert SHARED not in traits(answered_input_tokens=lengths(6000), prefix=prefix(0.02))
    assert SHARED not in traits(answered_input_tokens=lengths(3000), prefix=prefix(0.37))
    assert SHARED not in traits(answered_input_tokens=lengths(6000))


def test_a_peak_counts_only_where_it_is_more_than_chance() -> None:
    found = traits(arrivals=arrivals(peak=3, fano=20), rate_rps=5.0)
    assert found[BURSTY].figures == {"peak_over_mean_60_s": 3, "fano_60_s": 20}
    assert BURSTY not in traits(arrivals=arrivals(peak=3, fano=1.1), rate_rps=5.0)
    assert BURSTY not in traits(arrivals=arrivals(peak=1.5, fano=20), rate_rps=5.0)
    assert BURSTY not in traits(arrivals=arrivals(peak=None, fano=None), rate_rps=5.0)


def test_a_peak_of_a_few_requests_is_no_burst() -> None:
    assert BURSTY not in traits(arrivals=arrivals(peak=12, fano=3), rate_rps=0.01)


def test_each_heavy_tail_is_named_by_its_side() -> None:
    found = traits(answered_output_tokens=lengths(13, p99=251))
    assert found[TAILED].figures == {"output_tokens_p99_over_p50": pytest.approx(251 / 13)}
    assert TAILED not in traits(answered_output_tokens=lengths(0, p99=5))


def test_conversations_need_sessions() -> None:
    assert traits(sessions=sessions(0.6))[TURNS].figures == {"multi_turn_ratio": 0.6, "turns_mean": 2}
    assert TURNS not in traits(sessions=sessions(0.1))


def test_dominance_needs_enough_clients() -> None:
    assert traits(clients=clients(200, 3))[DOMINATED].figures["num_for_half"] == 3
    assert DOMINATED not in traits(clients=clients(200, 60))
    assert DOMINATED not in traits(clients=clients(4, 1))


def test_decode_and_prefill_bound_traffic_are_told_apart() -> None:
    assert DECODE in traits(answered_output_tokens=lengths(2500))
    assert PREFILL in traits(answered_output_tokens=lengths(28))


def test_on_off_traffic_carries_the_evidence_of_the_verdict() -> None:
    assert traits(arrivals=arrivals("on/off"))[ON_OFF].figures == {"count autocorrelation at 1 s": 0.76}
    assert ON_OFF not in traits(arrivals=arrivals("drifting poisson"))
