import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from workloads.readers import ReadOptions, read_trace
from workloads.readers.block_chains import chain_ids
from workloads.readers.chat_trees import find_roots
from workloads.readers.identity import hash_identities
from workloads.trace import TraceError

Write = Callable[[str], Path]


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_burstgpt_3_keeps_service_times_models_and_hashed_sessions(write: Write) -> None:
    head = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = "19440110.0,abc,43,GPT-4,906,446,1352,Conversation log\n19440161.0,,,ChatGPT,36,0,36,API log\n"
    trace = read_trace(write(head + rows), options=ReadOptions(salt=b"a"))
    other = read_trace(write(head + rows), options=ReadOptions(salt=b"b"))
    assert trace.arrival_ns.tolist() == [0, 51 * 10**9]
    assert trace.rows["service_ns"].to_list() == [43 * 10**9, None]
    assert trace.rows["model"].to_list() == ["GPT-4", "ChatGPT"]
    assert trace.rows["session_id"].dtype == pl.UInt64
    assert trace.rows["session_id"].is_null().to_list() == [False, True]
    assert trace.rows["session_id"][0] != other.rows["session_id"][0]
    assert trace.digest == other.digest


def test_one_name_hashes_differently_as_a_session_and_as_a_client() -> None:
    names = pl.Series("who", ["a", "b", "a", None, ""])
    sessions = hash_identities(names, "session", salt=b"s")
    clients = hash_identities(names, "client", salt=b"s")
    assert sessions[0] == sessions[2] != sessions[1]
    assert sessions[0] != clients[0]
    assert sessions[3] is None
    assert sessions[4] is None


def test_a_mooncake_delay_is_put_after_its_session_s_turn_before(write: Write) -> None:
    text = lines(
        {"timestamp": 1000, "session_id": "a", "input_length": 10, "output_length": 1},
        {"timestamp": 1500, "session_id": 7, "input_length": 20, "output_length": 1},
        {"delay": 250.5, "session_id": "a", "input_length": 11, "output_length": 1},
        {"delay": 100, "session_id": "a", "input_length": 12, "output_length": 1},
        {"delay": 100, "session_id": 7, "input_length": 21, "output_length": 1},
    )
    trace = read_trace(write(text))
    assert trace.input_tokens.tolist() == [10, 11, 12, 20, 21]
    assert trace.arrival_ns.tolist() == [0, 250_500_000, 350_500_000, 500_000_000, 600_000_000]
    assert trace.rows["session_id"].n_unique() == 2
    assert "3 requests have a delay" in trace.facts.notes[0]


def test_a_mooncake_session_without_any_time_is_refused(write: Write) -> None:
    text = lines({"delay": 5, "session_id": "a", "input_length": 10, "output_length": 1})
    with pytest.raises(TraceError, match="no request of their session"):
        read_trace(write(text))
    text = lines({"timestamp": 5, "input_length": 10, "output_length": 1}, {"input_length": 10, "output_length": 1})
    with pytest.raises(TraceError, match="timestamp must be a number"):
        read_trace(write(text))


TEXTS = lines(
    {"timestamp": 0, "session_id": "a", "output_length": 5, "text_input": "one two three"},
    {"timestamp": 9, "session_id": "a", "output_length": 6, "messages": [{"role": "user", "content": "four five"}]},
    {"timestamp": 9, "session_id": "a", "output_length": 6, "input_length": 3},
)


def test_text_without_a_length_is_counted_and_dropped(write: Write) -> None:
    trace = read_trace(write(TEXTS), options=ReadOptions(count_tokens=count_words))
    assert trace.input_tokens.tolist() == [3, 2, 3]
    assert "text" not in trace.rows.columns
    kept = read_trace(write(TEXTS), options=ReadOptions(count_tokens=count_words, keep_text=True))
    assert kept.rows["text"].to_list() == ["one two three", "four five", None]


def test_text_without_a_length_asks_for_a_tokenizer(write: Write) -> None:
    with pytest.raises(TraceError, match="must be counted") as caught:
        read_trace(write(TEXTS))
    assert "--tokenizer" in caught.value.advice
    assert "one two" not in str(caught.value)


def test_messages_that_leave_out_their_history_have_no_length(write: Write) -> None:
    row = {"timestamp": 0, "output_length": 5, "message_mode": "delta", "messages": [{"role": "user", "content": "x"}]}
    with pytest.raises(TraceError, match="delta"):
        read_trace(write(lines(row)), options=ReadOptions(count_tokens=count_words))


def test_block_ids_of_64_bits_stay_apart(write: Write) -> None:
    big = (1 << 64) - 1
    row = {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [big, big - 1]}
    blocks = read_trace(write(lines(row))).block_ids
    assert blocks is not None
    assert blocks.of(0).tolist() == [-1, -2]


def bailian(chat: int, parent: int, time: float, ids: list[int], **more: object) -> dict[str, object]:
    row = {"chat_id": chat, "parent_chat_id": parent, "timestamp": time, "input_length": 16 * len(ids)}
    return {**row, "output_length": 3, "type": "text", "turn": 1, "hash_ids": ids, **more}


def test_bailian_sessions_follow_parents_to_the_root(write: Write) -> None:
    text = lines(
        bailian(1, -1, 61.114, [5, 6]),
        bailian(2, 1, 62.5, [5, 6, 7], turn=2),
        bailian(3, -1, 63, [5, 9]),
        bailian(4, 2, 64, [5, 6, 7, 8], turn=3, type="image"),
        bailian(5, 99, 65, [1]),
        bailian(6, 99, 66, [2]),
    )
    trace = read_trace(write(text))
    assert (trace.facts.format, trace.facts.block_tokens) == ("bailian", 16)
    assert trace.arrival_ns[1] == 1_386_000_000
    one, two, three, four, five, six = trace.rows["session_id"].to_list()
    assert one == two == four
    assert five == six
    assert len({one, three, five}) == 3
    assert any("2 requests follow one that is not in the file" in note for note in trace.facts.notes)
    assert any("text 5, image 1" in note for note in trace.facts.notes)
    blocks = trace.block_ids
    assert blocks is not None
    assert blocks.of(1)[:2].tolist() == blocks.of(0).tolist()
    assert blocks.of(2)[0] == blocks.of(0)[0]


def test_equal_blocks_after_different_ones_are_chained_apart() -> None:
    chained = chain_ids(pl.Series("block_ids", [[1, 2, 3], [9, 2, 3], [1, 2], []], dtype=pl.List(pl.Int64)))
    first, other, short, empty = (one.to_list() for one in chained)
    assert first[:2] == short
    assert not set(first) & set(other)
    assert empty == []
    assert chained.name == "block_ids"


def test_a_chat_that_is_its_own_ancestor_is_refused() -> None:
    with pytest.raises(TraceError, match="own ancestors"):
        find_roots(np.array([1, 2, 3]), np.array([2, 3, 1]), Path("x"))


def test_long_chats_are_followed_in_few_steps() -> None:
    chats = np.arange(100_000)
    roots, num_orphans = find_roots(chats, chats - 1, Path("x"))
    assert (roots == 0).all()
    assert num_orphans == 0
