"""What the client says of time, against when the server says it sent: never early, hardly late, whatever the pace."""

import numpy as np
import pytest

from orchestrator.domain.records import RequestFailure
from orchestrator.metrics.latency import chunk_gaps_s, dispatch_lag_s, e2e_s, itls_s, tpot_s, ttft_s
from tests.integration.ruler.stage import Run, Sent, Stage

PROFILES = {"quick": (0.02, 0.005), "slow": (0.3, 0.05)}
COUNT, TOKENS = 60, 6


def late_ns(run: Run) -> np.ndarray:
    """Return how long after its sending each chunk with a token was seen, after checking that none was seen before."""
    found: list[int] = []
    for record, sent in run.pairs():
        times = [at for at, tokens in zip(sent["sent_ns"], sent["chunk_tokens"], strict=True) if tokens]
        assert record.sent_ns is not None
        assert record.sent_ns <= sent["received_ns"], "a request arrived before it was sent"
        assert len(record.chunk_ns) == len(times)
        found += [seen - at for seen, at in zip(record.chunk_ns, times, strict=True)]
    assert min(found) >= 0, "a chunk was seen before it was sent"
    return np.array(found)


def at_the_quietest(values: np.ndarray) -> float:
    """Return the tenth percentile: other work on the machine spoils some requests, a bias spoils all."""
    return float(np.quantile(values, 0.1))


def true_spans_s(sent: Sent) -> tuple[float, float]:
    """Return the server's own time to the first token and from the first to the last, seconds."""
    times = [at for at, tokens in zip(sent["sent_ns"], sent["chunk_tokens"], strict=True) if tokens]
    return (times[0] - sent["received_ns"]) / 1e9, (times[-1] - times[0]) / 1e9


@pytest.mark.parametrize("voice", PROFILES)
def test_two_paces_are_told_apart_and_never_beaten(stage: Stage, voice: str) -> None:
    run = stage.play([voice] * COUNT, max_tokens=TOKENS)
    pace_s, gap_s = PROFILES[voice]
    assert {one.failure for one in run.log.records} == {None}
    assert at_the_quietest(late_ns(run)) < 5e6

    true = [true_spans_s(sent) for _, sent in run.pairs()]
    ttfts = np.array([ttft_s(one) for one in run.log.records])
    assert ttfts.min() >= pace_s
    assert (ttfts - [first for first, _ in true]).min() >= 0, "TTFT is below the server's own"
    assert at_the_quietest(ttfts - [first for first, _ in true]) < 0.01
    assert min(e2e_s(one) or 0 for one in run.log.records) >= pace_s + gap_s * (TOKENS - 1)

    tpots = np.array([tpot_s(one) for one in run.log.records])
    assert at_the_quietest(np.abs(tpots * (TOKENS - 1) - [span for _, span in true])) < 0.01
    assert [len(itls_s(one) or []) for one in run.log.records] == [TOKENS - 1] * COUNT


def test_paces_side_by_side_do_not_touch_each_other(stage: Stage) -> None:
    run = stage.play(["quick", "slow"] * 20, gap_s=0.01, max_tokens=TOKENS)
    late_ns(run)
    quick, slow = ([ttft_s(one) for one in run.log.records[at::2]] for at in (0, 1))
    assert min(map(float, slow)) >= 0.3
    assert np.median(np.array(quick)) < 0.15


@pytest.mark.parametrize("voice", ["empty first", "role first"])
@pytest.mark.parametrize("route", ["completions", "chat"])
def test_a_first_chunk_without_text_is_no_token(stage: Stage, voice: str, route: str) -> None:
    run = stage.play([voice] * 3, route=route)
    late_ns(run)
    assert all(sent["chunk_tokens"][0] == 0 for _, sent in run.pairs())
    assert min(ttft_s(one) or 0 for one in run.log.records) >= 0.02
    assert {len(one.chunk_ns) for one in run.log.records} == {6}


def test_comments_that_keep_a_stream_alive_are_no_tokens(stage: Stage) -> None:
    run = stage.play(["comments"] * 3)
    late_ns(run)
    assert min(ttft_s(one) or 0 for one in run.log.records) >= 0.2
    assert {len(one.chunk_ns) for one in run.log.records} == {6}


def test_a_server_that_stalls_is_seen_to_stall_and_nobody_else_is(stage: Stage) -> None:
    run = stage.play(["stalls and goes on", *["quick"] * 20], gap_s=0.02)
    late_ns(run)
    stalled, *others = run.log.records
    assert max(chunk_gaps_s(stalled)) >= 0.4 - 0.05
    assert [round(gap, 1) for gap in chunk_gaps_s(stalled)].index(0.4) == 2
    assert np.median([max(chunk_gaps_s(one)) for one in others]) < 0.1
    assert np.median([dispatch_lag_s(one) for one in run.log.records]) < 0.01


def test_a_server_that_stalls_for_ever_is_a_timeout_and_nobody_else_is(stage: Stage) -> None:
    run = stage.play(["stalls for ever", "quick", "says nothing", "quick"], timeout_s=0.5)
    hung, quick, mute, last = sorted(run.log.records, key=lambda one: one.index)
    assert (hung.failure, len(hung.chunk_ns)) == (RequestFailure.TIMEOUT, 3)
    assert (mute.failure, len(mute.chunk_ns)) == (RequestFailure.TIMEOUT, 0)
    assert (quick.failure, last.failure) == (None, None)
    assert ttft_s(hung) is None
    assert {sent["outcome"] for record, sent in run.pairs() if record.failure} == {"client_gone"}
