"""Reads a study from YAML; every mistake is named by file, key path, what was seen and what is allowed."""

import difflib
import types
import typing
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Union

import yaml
from pydantic import BaseModel, ValidationError

from adapters import registry
from orchestrator.domain.errors import InputError
from orchestrator.domain.study import EngineChoice, StudySpec
from orchestrator.search.spaces import space_of
from orchestrator.tracking.redact import redact

CATALOG = files("orchestrator.studies") / "catalog"


def published() -> list[str]:
    """List the published studies by name."""
    return sorted(entry.name.removesuffix(".yaml") for entry in CATALOG.iterdir() if entry.name.endswith(".yaml"))


def read_study(name: str) -> StudySpec:
    """Read a study from a YAML file, or a published one by its name.

    Raises:
        InputError: no such file or study, or a mistake in it; nothing was started.
    """
    text, origin = _text_of(name)
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: not YAML: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"{origin}: expected a mapping of keys, seen {type(data).__name__}")
    return parse_study(data, origin)


def parse_study(data: dict[str, Any], origin: str) -> StudySpec:
    """Check a study's data, names of engines and flags included.

    Raises:
        InputError: one line for each mistake.
    """
    try:
        study = StudySpec.model_validate(data)
    except ValidationError as error:
        raise InputError("\n".join(_line(origin, one) for one in error.errors())) from error
    for index, choice in enumerate(study.engines):
        _check_engine(choice, f"{origin}: engines.{index}")
        _check_lora(study, choice, f"{origin}: engines.{index}")
    return study


def _text_of(name: str) -> tuple[str, str]:
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or path.exists():
        try:
            return path.read_text(encoding="utf-8"), name
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}: cannot be read: {error}") from error
    if name not in published():
        known = published()
        raise InputError(
            f"{name}: neither a file nor a published study; published: {', '.join(known)}{_nearest(name, known)}"
        )
    return (CATALOG / f"{name}.yaml").read_text(encoding="utf-8"), f"{name} (published)"


def _check_engine(choice: EngineChoice, origin: str) -> None:
    try:
        adapter = registry.get(choice.name)
    except registry.UnknownEngineError as error:
        raise InputError(f"{origin}.name: {error}") from error
    try:
        adapter.config_type.model_validate(choice.config)
    except ValidationError as error:
        fields = list(adapter.config_type.model_fields)
        raise InputError("\n".join(_line(f"{origin}.config", one, allowed=fields) for one in error.errors())) from error
    try:
        space_of(choice)
    except ValueError as error:
        raise InputError(f"{origin}.search: {error}") from error


def _check_lora(study: StudySpec, choice: EngineChoice, origin: str) -> None:
    if study.workload.lora and not registry.get(choice.name).capabilities.lora:
        able = [name for name in registry.names() if registry.get(name).capabilities.lora]
        raise InputError(
            f"{origin}.name: {choice.name} serves no LoRA adapters here, and workload.lora asks "
            f"{', '.join(study.workload.lora)}; leave lora out, or take one of {', '.join(able)}"
        )


def _line(origin: str, error: Any, allowed: Sequence[str] | None = None) -> str:  # noqa: ANN401 - Pydantic's ErrorDetails
    path = tuple(error["loc"])
    where = f"{origin}: {'.'.join(str(part) for part in path)}" if path else origin
    if error["type"] != "extra_forbidden":
        return f"{where}: {error['msg']}; seen {redact(error['input'])!r}"
    keys = list(allowed if allowed is not None else _keys_at(StudySpec, path[:-1]))
    return f"{where}: unknown key; allowed: {', '.join(keys)}{_nearest(str(path[-1]), keys)}"


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _keys_at(model: type[BaseModel], path: Sequence[object]) -> list[str]:
    """List the keys that a study allows at a path, looking through unions, tuples and discriminators."""
    here = [model]
    for part in path:
        here = [
            found
            for one in here
            for found in (_models_in(one.model_fields[part].annotation) if part in one.model_fields else [one])
        ]
    return sorted({key for one in here for key in one.model_fields})


def _models_in(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - any annotation of a field
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in {Union, types.UnionType, Annotated, tuple, list}:
        return [model for argument in typing.get_args(annotation) for model in _models_in(argument)]
    return []
