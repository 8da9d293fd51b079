"""Any CSV, JSON lines or Parquet whose columns a person has mapped; one that nobody has is refused with an offer.

Times may be spelled out, or be numbers whose unit shows by size or name; where it does not, it is asked about.
"""

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any

import polars as pl

from workloads.readers.assembly import RawRows, assemble
from workloads.readers.clock_times import parse_clock_times
from workloads.readers.column_names import REQUIRED, SHORT, USUAL, closest_mapping, known_names, spell_mapping
from workloads.readers.epochs import unit_by_name, unit_by_size, unit_question
from workloads.readers.format import Format, ReadOptions, Sample
from workloads.readers.gathering import gather
from workloads.readers.mapped_columns import Plan, sift_mapped
from workloads.readers.mapped_sources import TextSource, columns_of, open_texts
from workloads.readers.units import UNIT_WORDS, TimeUnit
from workloads.readers.zones import check_zone, settle_zones
from workloads.trace import Trace, TraceError

NAME = "mapped"
SHOWN_CHARS = 100
MAX_DECIMALS = 9


def refuse_unmapped(sample: Sample, known: str, given: Mapping[str, str]) -> TraceError:
    """Say that a file is of no known format, and offer the closest mapping of its columns."""
    columns = columns_of(sample)
    offer = spell_mapping(closest_mapping(columns, given))
    first = next((line for line in sample.head.splitlines() if line.strip()), ", ".join(columns))[:SHOWN_CHARS]
    return TraceError(
        f"format not recognised, first line {first!r}",
        path=sample.path,
        row=1,
        advice=f"Say which columns are which; the closest mapping of {', '.join(columns)[:SHOWN_CHARS]}: {offer}. "
        f"Formats known:{known}",
    )


def _recognises(_sample: Sample) -> bool:
    """Recognise nothing by itself: a file is read as mapped when a person maps its columns."""
    return False


def _read(sample: Sample, options: ReadOptions) -> Trace:
    """Read one file by its mapping.

    Raises:
        TraceError: the mapping names columns that are not there or lacks one that is needed, a row cannot be read, or
            the unit or zone of its times is in doubt.
    """
    _check_mapping(sample, options.mapping)
    check_zone(options.zone, sample.path)
    source = open_texts(sample, options.mapping, options.progress)
    blocks = iter(source.blocks)
    ahead = [block for block in [next(blocks, None)] if block is not None]
    plan = Plan(options.mapping, _unit(ahead, source, sample, options), options)
    work = partial(sift_mapped, source=source, plan=plan)
    gathered = gather(chain(ahead, blocks), work, path=sample.path, options=options)
    rows, has_offset = settle_zones(gathered.rows, options.zone, sample.path)
    rows, service_note = _settle_services(rows)
    return assemble(
        RawRows(
            rows,
            format=NAME,
            path=sample.path,
            resolution_ns=_resolution_ns(rows),
            time_unit=None if plan.unit is None else UNIT_WORDS[plan.unit],
            is_unit_given=options.unit is not None,
            dropped=gathered.dropped,
            notes=(*_time_note(plan, has_offset=has_offset), *gathered.notes, *service_note),
        )
    )


def _check_mapping(sample: Sample, mapping: Mapping[str, str]) -> None:
    columns = columns_of(sample)
    strange = next((ours for ours in mapping if ours not in USUAL), None)
    if strange is not None:
        raise TraceError(f"no column of ours is called {strange}", path=sample.path, advice=f"Known: {known_names()}")
    known = set(columns) if sample.kind != "json_lines" else set(columns) | _mentioned(sample, mapping)
    absent = next((theirs for theirs in mapping.values() if theirs not in known), None)
    lacking = [SHORT.get(ours, ours) for ours in REQUIRED if ours not in mapping]
    if absent is None and not lacking:
        return
    reason = f"no column {absent}" if absent is not None else f"the mapping lacks {', '.join(lacking)}"
    kept = {ours: theirs for ours, theirs in mapping.items() if theirs in known}
    raise TraceError(
        f"{reason}; its columns are {', '.join(columns)}",
        path=sample.path,
        row=1,
        advice=f"The closest mapping: {spell_mapping(closest_mapping(columns, kept))}",
    )


def _mentioned(sample: Sample, mapping: Mapping[str, str]) -> set[str]:
    """Return mapped paths whose last key the file's beginning names: a row need not have every key."""
    return {theirs for theirs in mapping.values() if f'"{theirs.rsplit(".", 1)[-1]}"' in sample.head}


def _unit(ahead: list[Any], source: TextSource, sample: Sample, options: ReadOptions) -> TimeUnit | None:
    """Tell from the first time how times are written."""
    firsts = source.parse(ahead[0]).frame["arrival_ns"].drop_nulls().head(1) if ahead else pl.Series()
    if not len(firsts) or parse_clock_times(firsts).is_readable[0]:
        return None
    column = options.mapping["arrival_ns"]
    try:
        size = float(firsts[0])
    except ValueError:
        return None  # no time at all: its line is refused like any other
    unit = options.unit or unit_by_name(column) or unit_by_size(size)
    if unit is None:
        raise TraceError(
            f"{column} holds numbers that are no times since 1970 in any unit",
            path=sample.path,
            advice=unit_question(column, firsts[0]),
        )
    return unit


def _settle_services(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Take out service times below 0: they ended before they began."""
    if "service_ns" not in rows.columns:
        return rows, ()
    num_negative = int((rows["service_ns"] < 0).sum())
    if not num_negative:
        return rows, ()
    known = pl.when(pl.col("service_ns") >= 0).then("service_ns").alias("service_ns")
    return rows.with_columns(known), (f"{num_negative} requests end before they arrive; their service time is unknown",)


def _resolution_ns(rows: pl.DataFrame) -> int:
    """Return the coarsest decimal step that all times keep to, at most a second."""
    if not rows.height:
        return 1
    stamps = rows["stamp_ns"]
    powers = range(MAX_DECIMALS, -1, -1)
    return int(10 ** next(power for power in powers if bool((stamps % 10**power == 0).all())))


def _time_note(plan: Plan, *, has_offset: bool) -> tuple[str, ...]:
    column = plan.mapping["arrival_ns"]
    if plan.unit is not None:
        return () if plan.options.unit else (f"{column} was read in {UNIT_WORDS[plan.unit]}, by its size or name",)
    if has_offset or plan.options.zone is not None:
        return ()
    return (f"{column} names no time zone; where its clock was changed, gaps are off by an hour",)


FORMAT = Format(NAME, "any CSV, JSON lines or Parquet with a mapping of its columns", _recognises, _read)
