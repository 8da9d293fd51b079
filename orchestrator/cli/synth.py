"""`seatrial synth`: a workload that makes more of a profiled traffic, or twists one trait of it; and that traffic."""

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError

from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_json, emit_text, say
from orchestrator.domain.errors import InputError
from workloads.catalog import load_profile, profile_names
from workloads.model import TrafficModel
from workloads.readers.anonymous import MIN_SALT_BYTES, write_anonymous
from workloads.readers.servegen import read_windows
from workloads.readers.servegen_mix import bias_of, compose
from workloads.synthesis.knobs import Knobs
from workloads.synthesis.made_trace import make_trace
from workloads.synthesis.profile_file import read_traffic
from workloads.workload import ProfileSource, PublishedSource

app = typer.Typer()

WINDOWS = (".csv", ".csv.gz")  # a profile is YAML, so a table can only hold ServeGen's windows


@app.command()
def synth(
    profile: Annotated[
        str, typer.Argument(help="A file of `seatrial profile -o`, a published workload, or ServeGen's windows.")
    ],
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the workload here, as YAML.")] = None,
    knob: Annotated[
        list[str] | None, typer.Option("--knob", help="A trait to change, as name=value; may be repeated.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Make the traffic and write it here, as Parquet.")
    ] = None,
    rate: Annotated[float | None, typer.Option(min=1e-6, help="Its rate, requests/s; the profile's own.")] = None,
    duration: Annotated[float | None, typer.Option(min=1e-3, help="Its length, seconds; the profile's own.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same traffic.")] = 0,
    start: Annotated[float, typer.Option(min=0, help="Of ServeGen's windows: from this second on.")] = 0.0,
    span: Annotated[float, typer.Option(min=1, help="Of ServeGen's windows: for so many seconds.")] = 3600.0,
    json: Json = False,
) -> None:
    """Turn a profile into a workload for a study; with --trace, make its traffic."""
    knobs = parse_knobs(knob or ())
    source, model = _source(profile, knobs, windows=(start, span))
    content = spell(source, seed)
    if trace is not None:
        _write_trace(model, knobs, trace, rate=rate, duration=duration, seed=seed)
    if out is not None:
        out.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        say(f"wrote {out}: give it to a study as its `workload`")
    if json:
        emit_json(content)
    elif out is None:
        emit_text(yaml.safe_dump(content, sort_keys=False))


def spell(source: ProfileSource | PublishedSource, seed: int) -> dict[str, Any]:
    """Spell a workload as a study has it: its source, the knobs that were given, and a seed other than 0."""
    spelled = source.model_dump(mode="json", exclude_none=True, exclude={"knobs"})
    knobs = source.knobs.model_dump(mode="json", exclude_unset=True)
    return {"source": {**spelled, **({"knobs": knobs} if knobs else {})}, **({"seed": seed} if seed else {})}


def parse_knobs(pairs: list[str] | tuple[str, ...]) -> Knobs:
    """Read `name=value` pairs; a dot leads into a knob of several parts, as in `burst.height=3`.

    Raises:
        InputError: a pair has another form, or no knob is what it says; the known ones are listed.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not (sign and name and value):
            raise InputError(f"--knob {pair}: expected name=value, such as input_scale=2")
        *above, last = name.split(".")
        place = found
        for part in above:
            place = place.setdefault(part, {})
        place[last] = yaml.safe_load(value)
    try:
        return Knobs.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(Knobs.model_fields)
        raise InputError(f"--knob {where}: {first['msg']}, seen {first['input']!r}; known: {known}") from error


def _source(
    profile: str, knobs: Knobs, *, windows: tuple[float, float]
) -> tuple[ProfileSource | PublishedSource, TrafficModel]:
    if profile in profile_names():
        return PublishedSource(name=profile, knobs=knobs), load_profile(profile).traffic
    path = Path(profile)
    if not path.exists():
        raise InputError(f"{profile}: no such file, and no published workload ({', '.join(profile_names())})")
    if path.is_dir() or path.name.endswith(WINDOWS):
        model = _composed(path, *windows)
        return ProfileSource(traffic=model, knobs=knobs), model
    return ProfileSource(path=path, knobs=knobs), read_traffic(path)


def _composed(path: Path, start_s: float, span_s: float) -> TrafficModel:
    """Compose ServeGen's clients, and say what is not known of them."""
    found = read_windows(path)
    for note in bias_of(found, start_s, span_s):
        say(f"{path.name}: {note}")
    return compose(found, start_s, span_s)


def _write_trace(
    model: TrafficModel, knobs: Knobs, path: Path, *, rate: float | None, duration: float | None, seed: int
) -> None:
    rate_rps, duration_s = rate or model.rate_rps, duration or model.span_s
    if rate_rps is None or duration_s is None:
        raise InputError("this profile was not measured on a trace: give --rate and --duration")
    made = make_trace(model, knobs, rate_rps=rate_rps, duration_s=duration_s, seed=seed)
    write_anonymous(made, path, salt=secrets.token_bytes(MIN_SALT_BYTES))
    say(f"wrote {path}: {len(made)} requests over {duration_s:g} s")
