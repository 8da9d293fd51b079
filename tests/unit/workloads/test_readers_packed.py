import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from workloads.readers import ReadOptions, read_trace
from workloads.readers.line_blocks import read_line_blocks
from workloads.trace import TraceError

Write = Callable[[str], Path]
Rows = dict[str, str]


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("name", ["azure2023", "burstgpt", "burstgpt_3", "mooncake"])
def test_a_packed_trace_reads_as_the_plain_one(
    rows: Rows, write: Write, tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(pack(rows[name].encode()))
    assert read_trace(packed).digest == read_trace(write(rows[name])).digest


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_packed_trace_that_is_cut_off_is_refused(rows: Rows, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(pack(rows["azure2023"].encode())[:-12])
    with pytest.raises(TraceError, match="cannot be unpacked"):
        read_trace(packed)


def test_progress_goes_up_to_the_size_of_the_packed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(read_line_blocks.__kwdefaults__, "block_bytes", 4096)
    path = tmp_path / "trace.csv.gz"
    lines = "".join(f"2023-11-16 18:00:{i % 60:02d},{i},1\n" for i in range(3000))
    path.write_bytes(gzip.compress(f"TIMESTAMP,ContextTokens,GeneratedTokens\n{lines}".encode()))
    seen: list[tuple[int, int]] = []
    read_trace(path, options=ReadOptions(progress=lambda done, size: seen.append((done, size))))
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size,) * 2


def test_an_interrupt_while_reading_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(read_line_blocks.__kwdefaults__, "block_bytes", 64)

    def stop(done: int, _size: int) -> None:
        if done > 1000:
            raise KeyboardInterrupt

    path = tmp_path / "trace.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "2023-11-16 18:00:00,1,1\n" * 3000)
    with pytest.raises(KeyboardInterrupt):
        read_trace(path, options=ReadOptions(progress=stop))
    assert len(read_trace(path)) == 3000


def test_a_packed_parquet_file_says_to_unpack_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1 and more"))
    with pytest.raises(TraceError, match="packed Parquet"):
        read_trace(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(path)
