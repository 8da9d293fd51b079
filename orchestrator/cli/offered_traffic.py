"""The workload that a person named: published, from a file, a trace, or of one size. Sends nothing."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from orchestrator.domain.errors import InputError
from workloads.catalog import load_profile, profile_names
from workloads.synthesis.profile_file import read_traffic
from workloads.workload import FixedSource, LengthScale, ProfileSource, PublishedSource, TraceSource, Workload


def read_workload(name: str) -> Workload:
    """Return a published workload, one that `seatrial synth -o` wrote, or the traffic of a profile's file.

    Raises:
        InputError: it is none of them, with the key and what was seen.
    """
    path = Path(name)
    if name in profile_names() or not path.exists():
        load_profile(name)  # says which names there are
        return Workload(source=PublishedSource(name=name))
    content = _read_yaml(path)
    if "source" not in content:
        read_traffic(path)  # says what is wrong with it
        return Workload(source=ProfileSource(path=path))
    try:
        return Workload.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}, seen {str(first['input'])[:60]!r}") from error


def choose_workload(
    *, trace: Path | None, workload: str | None, sizes: tuple[int | None, int | None], start_s: float
) -> Workload:
    """Return the workload that the options name, chat where they name none.

    Raises:
        InputError: they name several, or half of one.
    """
    is_fixed = sizes != (None, None)
    if sum((trace is not None, workload is not None, is_fixed)) > 1:
        raise InputError("choose one of --trace, --workload, and --input-tokens with --output-tokens")
    if trace is not None:
        return Workload(source=TraceSource(path=trace, start_s=start_s))
    if not is_fixed:
        return read_workload(workload or "chat")
    input_tokens, output_tokens = sizes
    if input_tokens is None or output_tokens is None:
        raise InputError("--input-tokens and --output-tokens go together")
    return Workload(source=FixedSource(input_tokens=input_tokens, output_tokens=output_tokens))


def changed(workload: Workload, typed: dict[str, Any]) -> Workload:
    """Return the workload with what was typed, where it was, in place of its own."""
    return workload.model_copy(update={name: value for name, value in typed.items() if value is not None})


def scaled(lengths: LengthScale, factor: float | None, most: tuple[int | None, int | None]) -> LengthScale:
    """Return lengths scaled and capped as typed; what was not typed stays as the workload has it."""
    typed: dict[str, Any] = {} if factor is None else {"input_factor": factor, "output_factor": factor}
    typed |= {
        name: value
        for name, value in zip(("max_input_tokens", "max_output_tokens"), most, strict=True)
        if value is not None
    }
    return lengths.model_copy(update=typed)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"--workload {path}: expected YAML: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"--workload {path}: expected keys and values, seen {type(content).__name__}")
    return content
