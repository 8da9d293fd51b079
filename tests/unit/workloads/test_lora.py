"""Adapters are asked in their shares, by a random stream of their own."""

from collections import Counter

import pytest
from pydantic import ValidationError

from workloads.lora import draw_mix
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule
from workloads.workload import FixedSource, Workload

FIXED = FixedSource(input_tokens=16, output_tokens=8)


def asked(schedule: Schedule) -> list[str | None]:
    assert schedule.lora is not None
    return [schedule.lora.of(index) for index in range(len(schedule))]


def test_each_adapter_and_the_base_model_get_their_share() -> None:
    counts = Counter(asked(build_closed_schedule(Workload(lora={"a": 0.5, "b": 0.2}), num_requests=20_000)))
    assert counts["a"] / 20_000 == pytest.approx(0.5, abs=0.02)
    assert counts["b"] / 20_000 == pytest.approx(0.2, abs=0.02)
    assert counts[None] / 20_000 == pytest.approx(0.3, abs=0.02)


def test_shares_of_one_in_all_leave_nothing_to_the_base_model() -> None:
    shares = {"a": 0.1, "b": 0.2, "c": 0.7}  # their sum in floating point is below 1
    assert -1 not in draw_mix(shares, 50_000, 0).choices


def test_adapters_change_nothing_else_of_a_schedule() -> None:
    plain, mixed = (
        build_open_schedule(Workload(source=FIXED, lora=lora), rate_rps=5, duration_s=20) for lora in ({}, {"a": 0.5})
    )
    assert plain.intended_ns is not None
    assert mixed.intended_ns is not None
    assert plain.intended_ns.tolist() == mixed.intended_ns.tolist()
    assert plain.input_tokens.tolist() == mixed.input_tokens.tolist()
    assert plain.digest != mixed.digest
    assert (plain.lora, "lora" in plain.facts) == (None, False)


def test_equal_workloads_give_equal_digests_in_whatever_order_adapters_are_named() -> None:
    one = Workload(source=FIXED, lora={"a": 0.3, "b": 0.4})
    other = Workload(source=FIXED, lora={"b": 0.4, "a": 0.3})
    assert (one == other, hash(one) == hash(other)) == (True, True)
    digests = {build_closed_schedule(each, num_requests=30).digest for each in (one, other)}
    assert len(digests) == 1


def test_the_mix_is_part_of_the_digest() -> None:
    digests = {
        build_closed_schedule(Workload(source=FIXED, lora=lora, seed=seed), num_requests=30).digest
        for lora, seed in (({"a": 0.3}, 0), ({"a": 0.4}, 0), ({"c": 0.3}, 0), ({"a": 0.3}, 1))
    }
    assert len(digests) == 4


def test_a_longer_schedule_begins_with_the_shorter_one() -> None:
    workload = Workload(source=FIXED, lora={"a": 0.5})
    short, long = (asked(build_closed_schedule(workload, num_requests=count)) for count in (20, 60))
    assert long[:20] == short


@pytest.mark.parametrize(
    ("lora", "words"),
    [
        ({"a": 0.6, "b": 0.5}, "at most 1 in all, seen 1.1"),
        ({"a": 0}, "greater than 0"),
        ({"a": 1.5}, "less than or equal to 1"),
        ({"": 0.5}, "at least 1 character"),
    ],
)
def test_impossible_shares_are_refused(lora: dict[str, float], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Workload(lora=lora)
