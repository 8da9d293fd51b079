"""Mapped text columns turned into columns of a trace, block by block."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from workloads.readers.clock_times import EXPECTED, parse_clock_times
from workloads.readers.epochs import texts_ns
from workloads.readers.format import ReadOptions
from workloads.readers.gathering import TOKENS, Cell, Sifted, sift
from workloads.readers.identity import hash_identities
from workloads.readers.mapped_sources import TextSource
from workloads.readers.units import TimeUnit
from workloads.readers.zones import clock_columns

DURATIONS: dict[str, tuple[str, TimeUnit]] = {
    "service_s": ("service_ns", "s"),
    "service_ms": ("service_ns", "ms"),
    "ttft_s": ("ttft_ns", "s"),
    "ttft_ms": ("ttft_ns", "ms"),
}


class Plan(NamedTuple):
    """How a file's columns are read; `unit` is that of times that are numbers, None where they are spelled out."""

    mapping: Mapping[str, str]
    unit: TimeUnit | None
    options: ReadOptions


def sift_mapped(block: Any, *, source: TextSource, plan: Plan) -> Sifted:  # noqa: ANN401  # what the source yields
    """Read one block of a source as a plan says; `has_offset` says of each time whether it named its zone."""
    part = source.parse(block)
    frame = part.frame
    stamp, has_offset = _times(frame["arrival_ns"], plan)
    columns = [
        stamp.alias("stamp_ns"),
        has_offset.alias("has_offset"),
        _tokens(frame["input_tokens"]),
        _tokens(frame["output_tokens"]),
        pl.repeat(value=False, n=frame.height, eager=True).alias("is_failed"),
        *(_duration(frame[ours], *DURATIONS[ours]) for ours in DURATIONS if ours in plan.mapping),
        *(_names(frame, plan)),
        frame["line"],
    ]
    if "end" in plan.mapping:
        columns.append((_times(frame["end"], plan)[0] - stamp).alias("service_ns"))
    cells = {
        "stamp_ns": Cell(plan.mapping["arrival_ns"], EXPECTED if plan.unit is None else "a number"),
        "input_tokens": Cell(plan.mapping["input_tokens"], TOKENS),
        "output_tokens": Cell(plan.mapping["output_tokens"], TOKENS),
    }
    return sift(part, pl.DataFrame(columns), cells)


def _names(frame: pl.DataFrame, plan: Plan) -> list[pl.Series]:
    salt = plan.options.salt
    found = [frame["model"]] if "model" in plan.mapping else []
    if "session_id" in plan.mapping:
        found.append(hash_identities(frame["session_id"], "session", salt=salt))
    if "client_id" in plan.mapping:
        found.append(hash_identities(frame["client_id"], "client", salt=salt))
    return found


def _times(texts: pl.Series, plan: Plan) -> tuple[pl.Series, pl.Series]:
    if plan.unit is None:
        return clock_columns(parse_clock_times(texts), plan.options.zone)
    stamps = pl.select(texts_ns(pl.lit(texts), plan.unit)).to_series()
    return stamps, pl.repeat(value=False, n=len(texts), eager=True)


def _tokens(texts: pl.Series) -> pl.Series:
    """Return whole numbers; `12.0` is one."""
    name, bare = texts.name, texts.str.strip_chars()
    numbers = bare.cast(pl.Float64, strict=False)
    whole = pl.select(pl.when(pl.lit(numbers) == pl.lit(numbers).floor()).then(pl.lit(numbers))).to_series()
    return whole.cast(pl.Int64, strict=False).alias(name)


def _duration(texts: pl.Series, name: str, unit: TimeUnit) -> pl.Series:
    lengths = pl.select(texts_ns(pl.lit(texts), unit)).to_series()
    return pl.select(pl.when(pl.lit(lengths) >= 0).then(pl.lit(lengths))).to_series().alias(name)
