"""Whether a cache policy held, on records whose hits are known."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.domain.cache import CacheFacts
from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.records import ReplayLog, RequestFailure, RequestRecord
from orchestrator.metrics.cache import cache_objections, cache_state
from orchestrator.metrics.summary import summarise
from tests.unit.metrics.test_summary import FACTS

MakeRecord = Callable[..., RequestRecord]
COLD = CacheFacts("cold", "reset", block_tokens=16, expected_tokens=np.full(10, 20))
WARM = CacheFacts("warm:0.5", "prefix", asked_hit_ratio=0.5, block_tokens=16, expected_tokens=np.full(10, 50))


@pytest.fixture
def records(record: MakeRecord) -> Callable[..., list[RequestRecord]]:
    def make(cached: int | None, *, prompt: int = 100) -> list[RequestRecord]:
        made = [record(index, intended_ms=100 * index) for index in range(10)]
        return [replace(one, input_tokens=100, input_tokens_server=prompt, cached_tokens_server=cached) for one in made]

    return make


@pytest.mark.parametrize(
    ("facts", "cached", "holds"),
    [
        (COLD, 0, True),  # an engine that finds less than the traffic shares is no warmer
        (COLD, 20, True),
        (COLD, 24, True),
        (COLD, 40, False),
        (WARM, 50, True),
        (WARM, 46, True),
        (WARM, 44, False),
        (WARM, 56, False),
        (CacheFacts("natural"), 80, None),
    ],
)
def test_a_policy_holds_where_hits_are_what_was_to_hit(
    facts: CacheFacts, cached: int, *, holds: bool | None, records: Callable[..., list[RequestRecord]]
) -> None:
    state = cache_state(facts, records(cached), hit_ratio=0.9)
    assert state.holds is holds
    assert bool(list(cache_objections(state))) is (holds is False)
    assert state.hit_ratio == 0.9  # the engine's counters are told as they are, the check rests on its answers


def test_what_an_engine_reports_with_each_answer_is_checked_first_and_its_counters_else(
    records: Callable[..., list[RequestRecord]],
) -> None:
    by_answers = cache_state(WARM, records(50), hit_ratio=0.1)
    assert (by_answers.checked_hit_ratio, by_answers.expected_hit_ratio, by_answers.holds) == (0.5, 0.5, True)
    by_counters = cache_state(WARM, records(None), hit_ratio=0.1)
    assert (by_counters.checked_hit_ratio, by_counters.holds) == (0.1, False)
    silent = cache_state(WARM, records(None), hit_ratio=None)
    assert (silent.checked_hit_ratio, silent.expected_hit_ratio, silent.holds) == (None, 0.5, None)


def test_a_template_may_hit_in_a_cold_cache_and_nothing_else_may(
    records: Callable[..., list[RequestRecord]],
) -> None:
    with_template = replace(COLD, has_template=True)
    assert cache_state(with_template, records(50, prompt=130), hit_ratio=None).holds is True
    assert cache_state(COLD, records(50, prompt=130), hit_ratio=None).holds is False
    assert cache_state(with_template, records(70, prompt=130), hit_ratio=None).holds is False


def test_failed_requests_and_unknown_ones_are_not_checked(records: Callable[..., list[RequestRecord]]) -> None:
    failed = [replace(one, failure=RequestFailure.TIMEOUT) for one in records(90)]
    assert cache_state(COLD, failed, hit_ratio=0.9).holds is None
    strangers = [replace(one, index=one.index + 50) for one in records(90)]
    assert cache_state(COLD, strangers, hit_ratio=0.9).holds is None


def test_a_policy_that_did_not_hold_degrades_the_measurement(
    records: Callable[..., list[RequestRecord]], log: Callable[..., ReplayLog]
) -> None:
    one = summarise(log(records(5)), replace(FACTS, cache_policy="warm:0.5", cache=WARM))
    assert one.cache.holds is False
    assert one.fidelity.verdict is Verdict.DEGRADED
    assert any(
        reason.startswith("cache warm:0.5 did not hold: 5.0% of the prompt tokens were found in the cache")
        for reason in one.fidelity.reasons
    )
    kept = summarise(log(records(50)), replace(FACTS, cache_policy="warm:0.5", cache=WARM))
    assert not any(reason.startswith("cache") for reason in kept.fidelity.reasons)
