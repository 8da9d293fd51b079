import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from workloads.profile.whole import profile_trace
from workloads.readers import read_trace
from workloads.readers.anonymous import write_anonymous
from workloads.readers.format import ReadOptions
from workloads.readers.identity import hash_identities
from workloads.readers.tokens import TokenCounter, chain_blocks, counter_from
from workloads.trace import NS_PER_S, Trace, TraceError, TraceFacts

SALT = b"0123456789abcdef"
OTHER_SALT = b"fedcba9876543210"
SECRETS = ("marzipan", "ann.smith", "sk-live-77", "sess-4711", "acme-plans", "10.11.12.13", "gateway-of-acme")


def planted(folder: Path) -> Path:
    """Write a log that holds every secret, in a folder and under a name that are secrets too."""
    rows = [
        {
            "timestamp": f"2024-05-01T12:00:{i:02}Z",
            "api_key": "sk-live-77",
            "user": f"ann.smith{i % 3}",
            "session_id": f"sess-4711-{i % 5}",
            "remote_addr": "10.11.12.13",
            "request": {"messages": [{"role": "user", "content": "bamention marzipan " * (20 + i % 2)}]},
            "response": {
                "model": "m",
                "usage": {"prompt_tokens": 40 + i, "completion_tokens": 5 + i},
                "choices": [{"message": {"content": "dument marzipan"}}],
            },
        }
        for i in range(30)
    ]
    path = folder / "acme-plans" / "gateway-of-acme.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join([*map(json.dumps, rows), '{"user": "ann.smith", marzipan']))
    return path


def told(path: Path) -> str:
    """Return all that a Parquet file says: its rows, its metadata, and its bytes as they lie on disk."""
    table = pq.read_table(path)
    said = [table.to_pylist(), table.schema.metadata, pq.ParquetFile(path).metadata.to_dict(), path.read_bytes()]
    return " ".join(str(one) for one in said)


def read_planted(folder: Path, **options: Any) -> Trace:
    return read_trace(planted(folder), options=ReadOptions(max_bad_ratio=0.1, **options))


def test_a_shared_trace_holds_no_content_and_no_identity(tmp_path: Path, tokenizer_path: Path) -> None:
    trace = read_planted(tmp_path, count_tokens=counter_from(tokenizer_path), keep_text=True)
    assert "marzipan" in trace.rows["text"][0]
    assert {"block_ids", "session_id", "client_id"} <= set(trace.rows.columns)
    path = tmp_path / "shared.parquet"
    write_anonymous(trace, path, salt=SALT)
    said = told(path)
    assert [secret for secret in SECRETS if secret in said] == []
    assert "2024" not in said
    for name in ("session_id", "client_id"):
        assert not set(trace.rows[name].to_list()) & set(pl.read_parquet(path)[name].to_list())


def test_a_profile_holds_no_content_and_no_identity_but_the_file_name(tmp_path: Path, tokenizer_path: Path) -> None:
    trace = read_planted(tmp_path, count_tokens=counter_from(tokenizer_path))
    said = profile_trace(trace).model_dump_json()
    assert [secret for secret in SECRETS if secret in said] == ["gateway-of-acme"]
    write_anonymous(trace, tmp_path / "shared.parquet", salt=SALT)
    shared = profile_trace(read_trace(tmp_path / "shared.parquet")).model_dump_json()
    assert [secret for secret in SECRETS if secret in shared] == []


def test_the_trace_itself_holds_hashes_and_no_text(tmp_path: Path) -> None:
    trace = read_planted(tmp_path)
    assert "text" not in trace.rows.columns
    assert trace.rows["session_id"].dtype == pl.UInt64
    assert trace.rows["client_id"].n_unique() == 3
    assert [secret for secret in SECRETS if secret in str(trace.rows.to_dicts())] == []


def made(**columns: Any) -> Trace:
    rows = pl.DataFrame(
        {
            "arrival_ns": pl.Series([0, 5, 5, 9], dtype=pl.Int64),
            "input_tokens": pl.Series([40, 16, 0, 33], dtype=pl.Int32),
            "output_tokens": pl.Series([1, 2, 0, 4], dtype=pl.Int32),
            "is_failed": [False, False, True, False],
            **columns,
        }
    )
    facts = TraceFacts("litellm", "acme.jsonl", 1, 1, notes=("line 3: 'marzipan' in acme.jsonl is the log's word",))
    return Trace(rows, facts)


def test_reading_back_keeps_lengths_arrivals_and_who_is_who(tmp_path: Path) -> None:
    blocks = [[7, 8, 9], [7], [], [7, 8, 5]]
    trace = made(
        block_ids=pl.Series(blocks, dtype=pl.List(pl.Int64)),
        session_id=pl.Series([1, 2, None, 1], dtype=pl.UInt64),
        client_id=["ann", "ann", "bob", None],
        model=["m", "m", None, "n"],
        ttft_ns=pl.Series([1, None, None, 3], dtype=pl.Int64),
        text=["marzipan"] * 4,
    )
    path = tmp_path / "shared.parquet"
    write_anonymous(trace, path, salt=SALT)
    back = read_trace(path)
    kept = ["arrival_ns", "input_tokens", "output_tokens", "is_failed", "model", "ttft_ns"]
    assert back.rows.select(kept).equals(trace.rows.select(kept))
    assert "text" not in back.rows.columns
    assert back.facts.format == "litellm"
    assert back.facts.notes == ("line 3: (left out) in (left out) is the log's word",)
    sessions, clients = back.rows["session_id"].to_list(), back.rows["client_id"].to_list()
    assert sessions[0] == sessions[3] != sessions[1]
    assert sessions[2] is None
    assert clients[0] == clients[1] != clients[2]
    found = back.block_ids
    assert found is not None
    assert found.counts.tolist() == [3, 1, 0, 3]
    assert found.of(0)[:2].tolist() == found.of(3)[:2].tolist()
    assert found.of(0)[2] != found.of(3)[2]
    assert found.values.min() >= 0
    assert not set(found.values.tolist()) & {5, 7, 8, 9}


def test_two_exports_cannot_be_joined(tmp_path: Path) -> None:
    trace = made(client_id=["ann", "ben", "bob", "cid"], block_ids=pl.Series([[1], [2], [], [1]]))
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_anonymous(trace, first, salt=SALT)
    write_anonymous(trace, second, salt=OTHER_SALT)
    for name in ("client_id", "block_ids"):
        one, other = (pl.read_parquet(path)[name].explode().drop_nulls() for path in (first, second))
        assert not set(one) & set(other)


def test_times_are_counted_from_the_first_arrival_only(tmp_path: Path) -> None:
    late = made().rows.with_columns(pl.col("arrival_ns") + 1714564800 * NS_PER_S)
    write_anonymous(Trace(late, made().facts), tmp_path / "a.parquet", salt=SALT)
    assert read_trace(tmp_path / "a.parquet").arrival_ns.tolist() == [0, 5, 5, 9]


def test_a_short_salt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="a salt of 4 bytes"):
        write_anonymous(made(), tmp_path / "a.parquet", salt=b"salt")
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (pl.col("arrival_ns").reverse(), "order of arrival"),
        (pl.col("input_tokens") - 100, "order of arrival"),
        (pl.col("input_tokens").cast(pl.Int64), "not those of a shared trace"),
        (pl.lit("marzipan").alias("text"), "not those of a shared trace"),
    ],
)
def test_a_shared_trace_that_was_changed_is_refused(change: pl.Expr, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_anonymous(made(), path, salt=SALT)
    metadata = pq.read_schema(path).metadata
    table = pl.read_parquet(path).with_columns(change).to_arrow(compat_level=pl.CompatLevel.oldest())
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(TraceError, match=reason):
        read_trace(path)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_anonymous(made(), path, salt=SALT)
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"seatrial_trace"]) | {"version": 99}
    pq.write_table(table.replace_schema_metadata({b"seatrial_trace": json.dumps(facts).encode()}), path)
    with pytest.raises(TraceError, match="written in version 99"):
        read_trace(path)


def test_identities_are_told_apart_by_salt_and_kind() -> None:
    names = pl.Series(["ann", "bob", None, "ann"])
    hashed = hash_identities(names, "client", salt=b"a")
    assert hashed[0] == hashed[3] != hashed[1]
    assert hashed[2] is None
    assert not set(hashed.drop_nulls()) & set(hash_identities(names, "client", salt=b"b").drop_nulls())
    assert not set(hashed.drop_nulls()) & set(hash_identities(names, "session", salt=b"a").drop_nulls())


def test_blocks_stand_for_their_whole_prefix() -> None:
    first, second, third = [1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [9, 2, 3, 4, 5]
    blocks = chain_blocks([first, second, third, []], b"s", 2)
    assert blocks.counts.tolist() == [3, 3, 3, 0]
    assert blocks.of(0)[:2].tolist() == blocks.of(1)[:2].tolist()
    assert blocks.of(0)[2] != blocks.of(1)[2]
    assert not set(blocks.of(0).tolist()) & set(blocks.of(2).tolist())
    assert not np.intersect1d(blocks.values, chain_blocks([first], b"t", 2).values).size


def test_a_counter_counts_as_its_tokenizer_does(tokenizer_path: Path) -> None:
    counter = counter_from(tokenizer_path)
    assert isinstance(counter, TokenCounter)
    texts = ["bamention foction", "", "goness"]
    assert counter(texts) == [len(ids) for ids in counter.encode(texts)]
    assert counter(texts)[1] == 0
