"""How many tokens there were: by the server, by the client, by what was asked, and what is said where they differ."""

from collections.abc import Sequence

import pytest

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.metrics.latency import chunk_gaps_s, itls_s, token_counts_agree, tpot_s
from orchestrator.metrics.summary import MeasurementFacts, summarise
from tests.integration.ruler.stage import Run, Stage
from workloads.workload import Stop

ASKED = 6
FACTS = {
    "trial_digest": "t",
    "schedule_digest": "s",
    "content": "english",
    "length_scale": 1.0,
    "cache_policy": "natural",
    "is_simulated": True,
    "started_at": "2026-01-01T00:00:00+00:00",
    "warmup_s": 0.0,
}


def measured(run: Run, stop: Stop = "forced") -> Measurement:
    return summarise(run.log, MeasurementFacts(**FACTS, stop=stop))


def one(stage: Stage, voice: str, *, route: str = "completions", max_tokens: int = ASKED) -> RequestRecord:
    (record,) = stage.play([voice], route=route, max_tokens=max_tokens).log.records
    return record


def counts(record: RequestRecord) -> tuple[int | None, int, int | None]:
    return record.output_tokens_server, record.output_tokens_client, record.output_tokens


def carried(record: RequestRecord) -> Sequence[int] | None:
    return None if record.chunk_tokens is None else list(record.chunk_tokens)


def test_speculation_without_ids_gives_chunk_gaps_and_no_token_gaps(stage: Stage) -> None:
    record = one(stage, "several tokens")
    assert counts(record) == (6, 3, 6)
    assert not token_counts_agree(record)
    assert itls_s(record) is None
    assert len(chunk_gaps_s(record)) == 2
    assert (tpot_s(record) or 0) >= 0.005 * 2 / 5 - 0.005


def test_speculation_with_ids_shares_each_gap_over_its_tokens(stage: Stage) -> None:
    record = one(stage, "several tokens, with ids")
    assert counts(record) == (6, 6, 6)
    assert carried(record) == [3, 1, 2]
    gaps, itls = chunk_gaps_s(record), itls_s(record)
    assert itls == pytest.approx([gaps[0], gaps[1] / 2, gaps[1] / 2])


def test_a_token_in_pieces_is_not_three_tokens_and_the_doubt_is_shown(stage: Stage) -> None:
    record = one(stage, "token in pieces", max_tokens=2)
    assert counts(record) == (2, 6, 2)
    assert itls_s(record) is None
    assert not token_counts_agree(record)


def test_a_token_in_pieces_with_ids_counts_where_it_begins(stage: Stage) -> None:
    record = one(stage, "token in pieces, with ids", max_tokens=2)
    assert counts(record) == (2, 2, 2)
    assert carried(record) == [1, 0, 0, 1, 0, 0]
    assert itls_s(record) == pytest.approx([sum(chunk_gaps_s(record)[:3])])


@pytest.mark.parametrize(("voice", "has_answer"), [("thinks", True), ("thinks only", False), ("calls a tool", True)])
def test_reasoning_and_tool_calls_are_tokens(stage: Stage, voice: str, *, has_answer: bool) -> None:
    record = one(stage, voice, route="chat")
    assert counts(record) == (6, 6, 6)
    assert record.failure is None
    assert (record.first_answer_ns is not None) is has_answer
    if voice == "thinks":
        assert record.first_answer_ns == record.chunk_ns[2]


@pytest.mark.parametrize(
    ("voice", "expected"),
    [
        ("counts last", (6, 6, 6)),
        ("counts each", (6, 6, 6)),
        ("counts first", (None, 6, 6)),
        ("counts never", (None, 6, 6)),
    ],
)
def test_usage_counts_wherever_it_comes_and_never_before_the_end(
    stage: Stage, voice: str, expected: tuple[int | None, int, int]
) -> None:
    record = one(stage, voice)
    assert record.failure is None
    assert counts(record) == expected
    assert record.input_tokens_server == (None if voice == "counts never" else 5)


def test_lengths_that_are_not_those_asked_are_counted_and_recorded_as_they_were(stage: Stage) -> None:
    found = measured(stage.play(["falls short", "falls short", "goes beyond", *["quick"] * 7]))
    assert (found.num_completed, found.num_short, found.num_long) == (10, 2, 1)
    assert found.output_tokens.mean == pytest.approx((2 * 3 + 9 + 7 * 6) / 10)
    assert found.fidelity.token_count_mismatch_ratio == 0


def test_a_natural_stop_has_no_length_to_keep_to(stage: Stage) -> None:
    found = measured(stage.play(["falls short", "quick"]), stop="natural")
    assert (found.num_short, found.num_long) == (None, None)
    assert found.num_ended_by_stop == 1


def test_every_disagreement_is_in_the_mismatch_rate_and_the_impossible_ones_in_the_verdict(stage: Stage) -> None:
    bundled = measured(stage.play(["several tokens"] * 3 + ["quick"] * 7))
    assert bundled.fidelity.token_count_mismatch_ratio == pytest.approx(0.3)
    assert not any("cannot both be right" in reason for reason in bundled.fidelity.reasons)
    torn = measured(stage.play(["token in pieces"] * 3 + ["quick"] * 7))
    assert torn.fidelity.token_count_mismatch_ratio == pytest.approx(0.3)
    assert torn.fidelity.verdict is not Verdict.SOUND
    assert any("cannot both be right" in reason for reason in torn.fidelity.reasons)


def test_a_source_that_is_mixed_is_called_mixed(stage: Stage) -> None:
    found = measured(stage.play(["counts never", "quick"]))
    assert found.output_tokens_source == "mixed"
    assert found.output_tokens.mean == 6


def test_an_answer_that_never_ends_times_out_with_its_tokens_kept_and_counted_nowhere(stage: Stage) -> None:
    run = stage.play(["never ends", "quick"], timeout_s=0.5)
    endless, quick = sorted(run.log.records, key=lambda record: record.index)
    assert endless.failure is RequestFailure.TIMEOUT
    assert len(endless.chunk_ns) > ASKED
    assert endless.output_tokens is None
    found = measured(run)
    assert (found.num_completed, found.num_failed, found.failures) == (1, 1, {RequestFailure.TIMEOUT: 1})
    assert found.output_tokens.count == 1
    assert quick.failure is None
