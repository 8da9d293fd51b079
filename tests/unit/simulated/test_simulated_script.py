"""Pacing is pure: every token is sent once, times add up, and a bad script line is named."""

from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.simulated.options import MAX_CHUNKS_PER_TOKEN, Options, parse
from adapters.simulated.prefix_cache import PrefixCache
from adapters.simulated.script import Failure, Pacing, chunks, load, token_text

GAPS = st.lists(st.integers(0, 10**9), min_size=1, max_size=5).map(tuple)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(tuple)
TOKENS = st.integers(1, 60)


@given(ttft_ns=st.integers(0, 10**9), gaps_ns=GAPS, sizes=SIZES, tokens=TOKENS)
def test_every_token_is_sent_once(ttft_ns: int, gaps_ns: tuple[int, ...], sizes: tuple[int, ...], tokens: int) -> None:
    sent = list(chunks(Pacing(ttft_ns, gaps_ns, sizes), tokens))
    assert sum(chunk.tokens for chunk in sent) == tokens
    assert "".join(chunk.text for chunk in sent) == "".join(map(token_text, range(tokens)))
    assert [chunk.is_last for chunk in sent] == [False] * (len(sent) - 1) + [True]
    expected = [ttft_ns, *gaps_ns, *[gaps_ns[-1]] * len(sent)][: len(sent)]
    assert [chunk.gap_ns for chunk in sent] == expected


@given(gaps_ns=GAPS, pieces=st.integers(2, MAX_CHUNKS_PER_TOKEN), tokens=TOKENS)
def test_pieces_keep_text_and_token_times(gaps_ns: tuple[int, ...], pieces: int, tokens: int) -> None:
    whole = list(chunks(Pacing(7, gaps_ns, (1,)), tokens))
    cut = list(chunks(Pacing(7, gaps_ns, (1,), pieces=pieces), tokens))
    assert len(cut) == tokens * pieces
    assert all(chunk.text for chunk in cut)
    assert "".join(chunk.text for chunk in cut) == "".join(chunk.text for chunk in whole)
    assert [at for at, chunk in zip(_times(cut), cut, strict=True) if chunk.tokens] == _times(whole)
    assert cut[-1].is_last
    assert not any(chunk.is_last for chunk in cut[:-1])


def _times(sent: list) -> list[int]:
    return list(accumulate(chunk.gap_ns for chunk in sent))


def test_flags_apply_after_the_script_ends(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"ttft_s": 1}\n\n{"ttft_s": 2, "failure": {"kind": "cut", "after_tokens": 3}}\n')
    script = load(replace(Options(), script=str(path), fail_every=2, fail_kind="stream_error"))
    assert script.pacing(0, None).ttft_ns == 10**9
    assert script.pacing(1, None).failure == Failure("cut", 500, 3)
    assert script.pacing(2, None) == Pacing(50_000_000, (10_000_000,), (1,))
    assert script.pacing(3, None).failure == Failure("stream_error", 500, 0)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "expected one JSON object"),
        ("[]", "expected an object"),
        ('{"ttft": 1}', "keys among failure, itl_s, request_id, tokens_per_chunk, ttft_s"),
        ('{"ttft_s": -1}', "ttft_s"),
        ('{"itl_s": []}', "itl_s"),
        ('{"itl_s": [1, "2"]}', "itl_s"),
        ('{"ttft_s": 1e999}', "ttft_s"),
        ('{"tokens_per_chunk": 0}', "tokens_per_chunk"),
        ('{"failure": "melt"}', "hang_before_headers"),
        ('{"failure": {"kind": "status", "status": "500"}}', "failure.status"),
    ],
)
def test_bad_script_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text("{}\n" + line)
    with pytest.raises(ValueError, match=r"script\.jsonl:2: .*" + says.replace(".", r"\.")):
        load(replace(Options(), script=str(path)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ttft-s", "-1"], "--ttft-s"),
        (["--itl-s", "nan"], "--itl-s"),
        (["--ttft-s", "inf"], "--ttft-s"),
        (["--max-running", "0"], "--max-running 0: expected a finite number of at least 1"),
        (["--chunks-per-token", "7"], "at most 6"),
        (["--chunks-per-token", "2", "--tokens-per-chunk", "2"], "exclude each other"),
        (["--fail-kind", "melt"], "invalid choice"),
        (["--ttft", "1"], "unrecognized arguments"),
    ],
)
def test_bad_flag_is_named(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_prefix_cache_counts_whole_leading_blocks() -> None:
    cache = PrefixCache(1024)
    prompt = tuple(range(40))
    assert cache.admit(prompt) == 0
    assert cache.admit(prompt) == 32
    assert cache.admit((*prompt[:16], -1, *prompt[17:])) == 16
    assert cache.admit((-1, *prompt[1:])) == 0
    cache.reset()
    assert cache.admit(prompt) == 0


def test_prefix_cache_evicts_the_least_recently_used() -> None:
    cache = PrefixCache(32)
    first, second, third = (tuple(range(start, start + 16)) for start in (0, 100, 200))
    cache.admit(first)
    cache.admit(second)
    assert cache.admit(first) == 16
    cache.admit(third)
    assert cache.admit(first) == 16
    assert cache.admit(second) == 0
