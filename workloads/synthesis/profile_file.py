"""A traffic model from a file: a profile written by `seatrial profile`, or the model alone."""

from pathlib import Path

import yaml
from pydantic import ValidationError

from workloads.errors import WorkloadError
from workloads.model import TrafficModel
from workloads.synthesis.knobs import Mix

Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ProfileError(WorkloadError):
    """A profile's file cannot be used: which file, which key, what is allowed."""


def read_traffic(path: Path) -> TrafficModel:
    """Read a profile's `traffic`, or a file that is such a model itself.

    Raises:
        ProfileError: the file cannot be read, is no YAML mapping, or its model is not what it should be.
    """
    content = _read_mapping(path)
    is_profile = "traffic" in content
    traffic = content["traffic"] if is_profile else content
    if traffic is None:
        raise ProfileError(f"{path}: traffic: it is empty, as no request of its trace was answered; profile another")
    try:
        return TrafficModel.model_validate(traffic)
    except ValidationError as error:
        raise ProfileError(_explain(path, ("traffic",) if is_profile else (), error)) from error


def second_model(mix: Mix) -> TrafficModel:
    """Return the second model of a mix.

    Raises:
        ProfileError: its file cannot be used.
    """
    if mix.traffic is not None:
        return mix.traffic
    if mix.path is None:
        raise ProfileError("a mix without path and traffic has no second model; give one of them")
    return read_traffic(mix.path)


def _read_mapping(path: Path) -> dict[str, object]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506 - a safe loader, in C if there
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read: {error.strerror}; check path and permissions") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ProfileError(f"{path}: no YAML: {error}; write it with `seatrial profile TRACE -o {path}`") from error
    if not isinstance(content, dict):
        raise ProfileError(f"{path}: expected keys and values, seen {type(content).__name__}; is it a profile?")
    return content


def _explain(path: Path, start: tuple[str, ...], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = (*start, *first["loc"])
    where = ".".join(str(part) for part in place) or "the file"
    allowed = f"; allowed here: {', '.join(TrafficModel.model_fields)}" if len(place) <= len(start) + 1 else ""
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{path}: {where}: {first['msg']}, seen {_short(first['input'])}{allowed}{more}"


def _short(value: object) -> str:
    text = repr(value)
    longest = 60
    return text if len(text) <= longest else text[:longest] + "..."
