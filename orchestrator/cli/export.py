"""`seatrial export`: a measurement in the form of another benchmark tool."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError

from orchestrator.cli.output import emit_text, say
from orchestrator.domain.errors import InputError
from orchestrator.domain.measurement import Measurement
from orchestrator.interchange.guidellm_report import to_guidellm
from orchestrator.interchange.llmd_report import to_llmd_report
from orchestrator.interchange.vllm_result import to_vllm_bench
from orchestrator.replay.files import read_records

app = typer.Typer()

Form = Literal["vllm-bench", "guidellm", "llm-d"]


@app.command()
def export(
    measurement: Annotated[Path, typer.Argument(help="A measurement, as `seatrial replay --json` prints it.")],
    *,
    form: Annotated[Form, typer.Option("--to", help="The form to write.")],
    records: Annotated[
        Path | None, typer.Option(help="Its requests, as `seatrial replay --records` wrote them; guidellm needs them.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model's name, which a measurement does not carry.")] = "",
    url: Annotated[str, typer.Option(help="The server's address, which a measurement does not carry.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of to stdout.")] = None,
) -> None:
    """Write a measurement in the form of another benchmark tool; what that form cannot say is left out."""
    one = read_measurement(measurement)
    log = None if records is None else read_records(records)
    match form:
        case "vllm-bench":
            content = to_vllm_bench(one, log, model=model)
        case "llm-d":
            content = to_llmd_report(one, tool_version=version("seatrial"), model=model)
        case "guidellm":
            if log is None:
                raise InputError("--to guidellm lists every request: give --records")
            content = to_guidellm(one, log, model=model, url=url)
    text = json.dumps(content, allow_nan=False)
    if out is None:
        emit_text(text)
        return
    out.write_text(text + "\n", encoding="utf-8")
    say(f"wrote {out}")


def read_measurement(path: Path) -> Measurement:
    """Read one measurement.

    Raises:
        InputError: the file cannot be read, holds several, or is of another form.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    lines = text.splitlines()
    if len(lines) > 1 and all(line.startswith("{") for line in lines):
        raise InputError(f"{path}: holds {len(lines)} measurements, one a load; give each as a file of its own")
    try:
        return Measurement.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{path}: no measurement of seatrial: {where}: {first['msg']}") from error
