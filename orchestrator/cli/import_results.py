"""`seatrial import`: what another benchmark tool measured, in our words, and beside a measurement of ours."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.export import read_measurement
from orchestrator.cli.options import Json
from orchestrator.cli.output import emit_table, emit_text
from orchestrator.domain.errors import InputError
from orchestrator.domain.measurement import Measurement
from orchestrator.interchange.foreign import ForeignMeasurement, ForeignSample
from orchestrator.interchange.recognition import read_foreign

app = typer.Typer()

VALUES = (
    *("offered_rps", "users", "num_issued", "num_completed", "num_failed", "window_s"),
    *("requests_per_s", "output_tokens_per_s", "goodput_rps", "slo_attainment"),
)
SAMPLES = ("ttft_s", "itl_s", "chunk_gap_s", "tpot_s", "e2e_s", "input_tokens", "output_tokens")
PARTS = ("mean", "p50", "p90", "p95", "p99", "p999")


@app.command("import")
def import_results(
    result: Annotated[Path, typer.Argument(help="JSON of vllm bench serve, GuideLLM or AIPerf.")],
    *,
    against: Annotated[
        Path | None, typer.Option(help="A measurement of `seatrial replay --json`, to stand beside it.")
    ] = None,
    json: Json = False,
) -> None:
    """Read another benchmark tool's result, and say what of it could not be taken over."""
    ours = None if against is None else read_measurement(against)
    for one in read_foreign(_read_json(result), str(result)):
        if json:
            emit_text(one.to_json())
        else:
            _print(one, ours)


def _print(one: ForeignMeasurement, ours: Measurement | None) -> None:
    columns = ("figure", one.tool, *(() if ours is None else ("seatrial", "ratio")))
    emit_table(f"{one.tool} {one.tool_version or '(version not said)'}", columns, _rows(one, ours))
    emit_text("\n".join(f"note: {note}" for note in one.notes))
    if one.not_understood:
        emit_text(f"not read: {', '.join(one.not_understood)}")


def _rows(one: ForeignMeasurement, ours: Measurement | None) -> list[tuple[object, ...]]:
    rows = [_row(name, getattr(one, name), None if ours is None else getattr(ours, name), ours) for name in VALUES]
    for name in SAMPLES:
        sample: ForeignSample | None = getattr(one, name)
        for part in PARTS if sample is not None else ():
            other = None if ours is None else getattr(getattr(ours, name), part)
            rows.append(_row(f"{name}.{part}", getattr(sample, part), other, ours))
    return [row for row in rows if row[1] is not None]


def _row(name: str, theirs: float | None, own: float | None, ours: Measurement | None) -> tuple[object, ...]:
    spelled = (name, _spell(theirs))
    if ours is None:
        return spelled
    ratio = f"{theirs / own:.3f}" if theirs is not None and own else None
    return (*spelled, _spell(own), ratio)


def _spell(value: float | None) -> str | None:
    return None if value is None else f"{value:.5g}"


def _read_json(path: Path) -> object:
    try:
        return json_text.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except ValueError as error:
        raise InputError(f"{path}: expected one JSON document: {error}") from error
