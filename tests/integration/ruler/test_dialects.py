"""Every stream that every adapter has on record, through a real socket, in one piece and cut where it hurts."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from adapters import registry
from adapters.conformance.transcript import Transcript
from adapters.openai import Route
from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.metrics.latency import tpot_s
from tests.contracts.transcripts import read_transcripts
from tests.integration.ruler.stage import Sent, Stage
from tests.integration.ruler.voices import CUTS, ENGINES, tape_name, transcript


@dataclass(frozen=True, slots=True)
class Told:
    """What a transcript says by plain reading: where each event with output ends in the body, and how all ends."""

    ends: Sequence[int]
    usage: tuple[int, int] | None
    failure: RequestFailure | None


def told(engine: str, answer: Transcript) -> Told:
    sizes = [len(event) for event in answer.events()]
    ends = [sum(sizes[: at + 1]) for at in answer.outputs()]
    return Told(ends, answer.usage(), failure_of(engine, answer, has_output=bool(ends)))


def failure_of(engine: str, answer: Transcript, *, has_output: bool) -> RequestFailure | None:
    if "error" in answer.name:
        return RequestFailure.STREAM_ERROR
    if answer.end(sends_done=registry.get(engine).capabilities.sends_done) is None:
        return RequestFailure.CUT_STREAM
    return None if has_output else RequestFailure.EMPTY_OUTPUT


def written_ns(sent: Sent, end: int) -> int:
    """Return when the write that completed the body's first `end` bytes was begun."""
    return next(at for at, total in zip(sent["sent_ns"], sent["body_bytes"], strict=True) if total >= end)


def check(record: RequestRecord, sent: Sent, expected: Told, name: str) -> None:
    assert record.failure is expected.failure, f"{name}: {record.failure_detail}"
    assert len(record.chunk_ns) == len(expected.ends), name
    seen_before = [at - written_ns(sent, end) for at, end in zip(record.chunk_ns, expected.ends, strict=True)]
    assert min(seen_before, default=0) >= 0, f"{name}: a token was seen before the last byte of its event was sent"
    if expected.usage is not None and expected.failure is None:
        assert (record.input_tokens_server, record.output_tokens_server) == expected.usage, name
        assert record.output_tokens == expected.usage[1], name
    if expected.failure is not None:
        assert record.output_tokens is None, name


@pytest.mark.parametrize("route", ["completions", "chat"])
@pytest.mark.parametrize("engine", ENGINES)
def test_recorded_streams_say_the_same_over_the_wire(stage: Stage, engine: str, route: Route) -> None:
    names = [name for name in read_transcripts(engine) if name.startswith(route)]
    played = [(name, cut) for name in names for cut in CUTS]
    voices = [tape_name(engine, *one) for one in played]
    run = stage.play(voices, gap_s=0.03, route=route, capabilities=registry.get(engine).capabilities)
    by_index = sorted(run.pairs(), key=lambda pair: pair[0].index)
    for (name, cut), (record, sent) in zip(played, by_index, strict=True):
        check(record, sent, told(engine, transcript(engine, name)), f"{engine}/{name}/{cut}")


def test_events_in_one_segment_have_one_time_and_no_time_per_token(stage: Stage) -> None:
    run = stage.play([tape_name("vllm", "completions-plain", "whole")] * 5)
    for record, sent in run.pairs():
        assert len(sent["sent_ns"]) == 1
        assert len(record.chunk_ns) > 1
        if len(set(record.chunk_ns)) == 1:
            assert tpot_s(record) is None, "no time was seen to pass between the first token and the last"
    assert any(len(set(record.chunk_ns)) == 1 for record in run.log.records)


def test_one_event_over_many_segments_has_the_time_of_its_last_byte(stage: Stage) -> None:
    run = stage.play([tape_name("vllm", "completions-plain", "awkward")] * 5)
    ends = told("vllm", transcript("vllm", "completions-plain")).ends
    for record, sent in run.pairs():
        assert len(sent["sent_ns"]) > 3 * len(ends)
        check(record, sent, told("vllm", transcript("vllm", "completions-plain")), "awkward")
        assert written_ns(sent, ends[0]) > sent["sent_ns"][0], "the event's first byte went earlier"
