"""`seatrial profile`: what the traffic of a trace looks like, as text, YAML and a page; a trace fit to share."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.markup import escape

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_facts, emit_json, emit_text, say
from orchestrator.cli.reading import watch_reading, watch_work
from orchestrator.domain.errors import InputError
from orchestrator.report.traffic.key_figures import key_figures
from orchestrator.report.traffic.page import render_profile
from orchestrator.report.traffic.sentences import advice, describe, opening
from workloads.profile.model import TraceProfile
from workloads.profile.people.concurrency import LatencyModel
from workloads.profile.whole import profile_trace
from workloads.readers import FORMATS, ReadOptions, read_trace
from workloads.readers.anonymous import MIN_SALT_BYTES, write_anonymous
from workloads.readers.format import MAX_BAD_RATIO
from workloads.readers.tokens import counter_from
from workloads.readers.units import TimeUnit
from workloads.trace import Trace

app = typer.Typer()

SALT = "SEATRIAL_SALT"
SALT_BYTES = 32
LATENCY_FORM = "base_s,per_input_token_s,per_output_token_s"


@app.command()
def profile(
    trace: Annotated[Path, typer.Argument(help="A trace or a request log; also .gz and .zst.")],
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the profile here, as YAML.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with pictures here.")] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help=f"Recognised where left out; one of {', '.join(FORMATS)}.")
    ] = None,
    unit: Annotated[TimeUnit | None, typer.Option("--unit", help="Unit of times that are bare numbers.")] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", help="Time zone of times that name none, such as Europe/Berlin.")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="A column of the file, as ours=theirs; may be repeated.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", help="A tokenizer.json, to count texts without token counts.")
    ] = None,
    keep_text: Annotated[
        bool, typer.Option("--keep-text", help="Keep texts in memory; they are never written.")
    ] = False,
    max_bad_ratio: Annotated[
        float, typer.Option("--max-bad-ratio", min=0, max=1, help="Share of rows that may be unreadable.")
    ] = MAX_BAD_RATIO,
    latency: Annotated[
        str | None, typer.Option("--latency", help=f"Service times where none are recorded: {LATENCY_FORM}.")
    ] = None,
    anonymise: Annotated[
        Path | None, typer.Option("--anonymise", help="Write a trace without content and identities here, as Parquet.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of samples and bootstraps.")] = 0,
    json: Json = False,
) -> None:
    """Characterise a trace: lengths, arrivals, periods, shared prefixes, clients, and what to look at first."""
    stated = None if latency is None else parse_latency(latency)
    options = ReadOptions(
        unit=unit,
        zone=zone,
        mapping=parse_mapping(mapping or ()),
        max_bad_ratio=max_bad_ratio,
        keep_text=keep_text,
        salt=_salt(),
        count_tokens=None if tokenizer is None else counter_from(tokenizer),
    )
    _check_places((out, html, anonymise), trace)
    try:
        read = _read(trace, format_name, options)
        with watch_work(f"measuring {len(read):,} requests"):
            found = profile_trace(read, seed=seed, latency=stated)
        _write(found, read, out=out, html=html)
        if anonymise is not None:
            write_anonymous(read, anonymise, salt=_salt())
            say(f"wrote {anonymise}")
    except KeyboardInterrupt:
        say("stopped before the end")
        raise
    if json:
        emit_json(found.model_dump(mode="json"))
    else:
        _print(found)


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """Read `ours=theirs` pairs.

    Raises:
        InputError: a pair has another form, or a column of ours is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        ours, sign, theirs = pair.partition("=")
        if not (sign and ours and theirs):
            raise InputError(f"--map {pair}: expected ours=theirs, such as input_tokens=prompt_tokens")
        if ours in found:
            raise InputError(f"--map {pair}: {ours} is mapped to {found[ours]} already; give each column of ours once")
        found[ours] = theirs
    return found


def parse_latency(text: str) -> LatencyModel:
    """Read three numbers, seconds.

    Raises:
        InputError: there are not three, or one is negative or no number.
    """
    try:
        base_s, per_input_token_s, per_output_token_s = (float(one) for one in text.split(","))
    except ValueError as error:
        raise InputError(f"--latency {text}: expected {LATENCY_FORM}, such as 0.05,0.0001,0.02") from error
    if not all(0 <= one < float("inf") for one in (base_s, per_input_token_s, per_output_token_s)):
        raise InputError(f"--latency {text}: expected seconds of at least 0")
    return LatencyModel(base_s=base_s, per_input_token_s=per_input_token_s, per_output_token_s=per_output_token_s)


def to_yaml(found: TraceProfile) -> str:
    """Spell a profile as YAML that reads back as the same profile."""
    return yaml.safe_dump(
        found.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=120, allow_unicode=True
    )


def _salt() -> bytes:
    """Return what hashes are salted with: the environment's where several files must agree, else a fresh one."""
    given = os.environ.get(SALT, "").encode()
    if 0 < len(given) < MIN_SALT_BYTES:
        raise InputError(f"{SALT}: expected at least {MIN_SALT_BYTES} bytes, which nobody guesses, seen {len(given)}")
    return given or secrets.token_bytes(SALT_BYTES)


def _check_places(places: Sequence[Path | None], trace: Path) -> None:
    for one in places:
        if one is not None and not one.absolute().parent.is_dir():
            raise InputError(f"{one}: its folder does not exist; make it first")
        if one is not None and (one.is_dir() or one.resolve() == trace.resolve()):
            raise InputError(f"{one}: is a folder or the trace itself; name another file")


def _read(trace: Path, format_name: str | None, options: ReadOptions) -> Trace:
    with watch_reading(trace) as watch:
        read = read_trace(trace, format=format_name, options=replace(options, progress=watch))
    say(f"{trace}: read as {read.facts.format}, {len(read):,} requests")
    return read


def _write(found: TraceProfile, read: Trace, *, out: Path | None, html: Path | None) -> None:
    if out is not None:
        _put(out, to_yaml(found))
    if html is not None:
        with watch_work("drawing"):
            page = render_profile(found, read)
        _put(html, page)


def _put(path: Path, text: str) -> None:
    """Write a whole file or none."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    say(f"wrote {path}")


def _print(found: TraceProfile) -> None:
    figures = {escape(name): escape(value) for name, value in key_figures(found).items()}
    emit_facts(escape(f"traffic of {found.source}"), figures)
    verdict = found.arrivals.verdict
    evidence = [f"  {one.name} {one.value:.4g}: {one.says}" for one in verdict.evidence]
    parts = (
        ("", [opening(found), verdict.sentence, *evidence, *describe(found)]),
        ("Look at first:", [f"- {advice(one)}" for one in found.traits]),
        ("Notes:", [f"- {note}" for note in found.notes]),
    )
    emit_text("\n\n".join("\n".join(filter(None, (head, *lines))) for head, lines in parts if lines))
