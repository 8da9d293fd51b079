"""ServeGen's windows: for each client and ten minutes a rate and a CV, and beside them how long its requests were.

They are no requests, so no trace is made of them; `servegen_mix` makes traffic of them. The fitted shape and scale are
not read: Weibull rows do not have the rate that stands beside them, so the stated rate and CV hold.
Source: ServeGen (Xiang et al., NSDI 2026), its `clientpool.py` for the original form.
"""

import ast
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.unpacking import open_unpacked
from workloads.trace import Trace, TraceError

NAME = "servegen"
HEADER = frozenset({"client_id", "window_start_s", "rate_rps", "cv"})
CHUNK = re.compile(r"chunk-(\d+)-(?:trace\.csv|dataset\.json)")
CHUNK_COLUMNS = ("window_start_s", "rate_rps", "cv", "pattern", "shape", "scale")
KINDS = ("input_tokens", "output_tokens")
MEDIA_KINDS = frozenset({"text_tokens", "image_tokens", "audio_tokens", "video_tokens"})
LENGTHS = {
    "client_id": pl.Int64,
    "window_start_s": pl.Int64,
    "kind": pl.String,
    "tokens": pl.Int64,
    "share": pl.Float64,
}
WINDOW_S = 600
ADVICE = "Make traffic of them: `seatrial synth FILE --start SECONDS --span SECONDS`"


@dataclass(frozen=True, slots=True)
class ServeGenWindows:
    """Windows of `WINDOW_S` seconds that had requests, and lengths where they are published.

    Columns of `windows`: `client_id`, `window_start_s` (int64), `rate_rps`, `cv` (float64). Columns of `lengths`: a
    client's `share` of requests with so many `tokens`, for each `kind` (input or output), in force from
    `window_start_s` until the client's next one.
    """

    windows: pl.DataFrame
    lengths: pl.DataFrame
    source: str

    @property
    def clients_without_lengths(self) -> NDArray[np.int64]:
        """Return the clients that send requests and have no published lengths, ascending."""
        clients = self.windows["client_id"].unique()
        return clients.filter(~clients.is_in(self.lengths["client_id"].unique().implode())).sort().to_numpy()

    @property
    def share_without_lengths(self) -> float:
        """Return the share of all requests that those clients send."""
        unknown = self.windows["client_id"].is_in(pl.Series(self.clients_without_lengths).implode())
        return float(self.windows["rate_rps"].filter(unknown).sum()) / float(self.windows["rate_rps"].sum())


def read_windows(path: Path) -> ServeGenWindows:
    """Read windows: a table of all clients with its datasets beside it, or a folder of `chunk-N-*` files.

    Raises:
        TraceError: it is neither, a row is no window, or the requests hold more than text.
    """
    if path.is_dir() or CHUNK.fullmatch(path.name):
        folder = path if path.is_dir() else path.parent
        windows, lengths = _chunk_windows(folder), [*_chunk_lengths(folder)]
    else:
        windows, lengths = _table(path), [*_table_lengths(path)]
    is_bad = windows.select(pl.any_horizontal(pl.col(*HEADER).is_null()) | (pl.col("rate_rps") < 0)).to_series()
    if windows.height == 0 or is_bad.any():
        raise TraceError(
            "no window at all" if windows.height == 0 else "a window without client, start, rate or CV",
            path=path,
            row=None if windows.height == 0 else int(is_bad.arg_max() or 0) + 2,
            advice="Give the files as ServeGen publishes them",
        )
    sending = windows.select(*HEADER).filter(pl.col("rate_rps") > 0)
    table = pl.concat([pl.DataFrame(schema=LENGTHS), *lengths])
    return ServeGenWindows(sending.sort("window_start_s", "client_id"), table, path.name)


def _table(path: Path) -> pl.DataFrame:
    types = {"client_id": pl.Int64, "window_start_s": pl.Int64, "rate_rps": pl.Float64, "cv": pl.Float64}
    with open_unpacked(path) as file:
        try:
            return pl.read_csv(file.read(), columns=list(types), schema_overrides=types, ignore_errors=True)
        except pl.exceptions.PolarsError as error:
            raise TraceError("no table of ServeGen's windows", path=path, advice=f"Expected {set(types)}") from error


def _table_lengths(path: Path) -> Iterator[pl.DataFrame]:
    stem = path.name.split("_traces")[0]
    for beside in sorted(path.parent.glob(f"{stem}_datasets*.jsonl*")):
        with open_unpacked(beside) as file:
            for line in file:
                row = json.loads(line)
                yield from _distribution(row["client_id"], row["window_start_s"], row, beside)


def _chunk_windows(folder: Path) -> pl.DataFrame:
    frames = [
        pl.read_csv(one, has_header=False, new_columns=list(CHUNK_COLUMNS), ignore_errors=True)
        .select(
            pl.lit(_client(one)).alias("client_id").cast(pl.Int64),
            pl.col("window_start_s").cast(pl.Int64),
            pl.col("rate_rps", "cv").cast(pl.Float64),
        )
        .filter(pl.col("rate_rps") > 0)
        for one in sorted(folder.glob("chunk-*-trace.csv"), key=_client)
        if one.stat().st_size
    ]
    if not frames:
        raise TraceError("no chunk-N-trace.csv with a window in it", path=folder, advice="Name ServeGen's own folder")
    return pl.concat(frames)


def _chunk_lengths(folder: Path) -> Iterator[pl.DataFrame]:
    """Read distributions that are written as Python dicts inside JSON strings."""
    for one in sorted(folder.glob("chunk-*-dataset.json"), key=_client):
        with io.TextIOWrapper(open_unpacked(one), encoding="utf-8") as file:
            content = json.load(file)
        for start, kinds in content.items():
            yield from _distribution(
                _client(one), int(start), {kind: ast.literal_eval(text) for kind, text in kinds.items()}, one
            )


def _distribution(client_id: int, start_s: int, row: dict[str, object], path: Path) -> Iterator[pl.DataFrame]:
    if MEDIA_KINDS & row.keys():
        raise TraceError("requests with images, audio or video; only text is sent", path=path, advice="Take another")
    for kind in KINDS:
        shares = row.get(kind)
        if isinstance(shares, dict) and shares:
            yield pl.DataFrame(
                {
                    "client_id": client_id,
                    "window_start_s": start_s,
                    "kind": kind,
                    "tokens": [int(tokens) for tokens in shares],
                    "share": list(shares.values()),
                },
                schema=LENGTHS,
            )


def _client(path: Path) -> int:
    match = CHUNK.fullmatch(path.name)
    if match is None:
        raise TraceError("no file of a ServeGen client", path=path, advice="Expected chunk-N-trace.csv")
    return int(match.group(1))


def _recognises(sample: Sample) -> bool:
    names = set(sample.names)
    has_lengths = {"client_id", "window_start_s"} <= names and bool(names & {*KINDS, *MEDIA_KINDS})
    return names >= HEADER or has_lengths or CHUNK.fullmatch(sample.path.name) is not None


def _read(sample: Sample, _options: ReadOptions) -> Trace:
    raise TraceError("windows of ten minutes, not requests", path=sample.path, advice=ADVICE)


FORMAT = Format(NAME, "ServeGen's windows of clients: refused as a trace", _recognises, _read)
