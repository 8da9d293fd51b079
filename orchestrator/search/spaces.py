"""The space of one candidate: its engine's catalogue, or for a plug-in without one the flags that the study lists."""

import difflib

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from adapters import registry
from orchestrator.domain.study import EngineChoice
from search_spaces import Parameter, SearchSpace, SpaceError, load_space
from search_spaces.catalog import engines
from search_spaces.parameter import Scalar

SCALAR: TypeAdapter[Scalar] = TypeAdapter(Scalar)


def space_of(choice: EngineChoice) -> SearchSpace:
    """Return what a candidate searches; what its study fixes is the default, and is searched only where it is listed.

    Raises:
        SpaceError: a flag that is not there or a value that it cannot have, with the nearest name.
    """
    space = load_space(choice.name) if choice.name in engines() else _listed(choice)
    restricted = space.restricted(choice.search) if choice.search is not None else space.without(choice.config)
    _check_values(choice)
    return restricted.fixed(choice.config)


def _check_values(choice: EngineChoice) -> None:
    """Refuse a listed value that the engine's configuration would refuse in the middle of a study."""
    config_type = registry.get(choice.name).config_type
    for name, values in (choice.search or {}).items():
        for value in values:
            try:
                config_type.model_validate({**choice.config, name: value})
            except ValidationError as error:
                found = [one for one in error.errors() if one["loc"][:1] == (name,)]  # others may depend on other flags
                if found:
                    raise SpaceError(f"{name}: {found[0]['msg']}; seen {value!r}") from error


def _listed(choice: EngineChoice) -> SearchSpace:
    """Make a space from the values that a study lists for a plug-in's flags."""
    fields = registry.get(choice.name).config_type.model_fields
    parameters = tuple(_parameter(choice, name, fields=fields) for name in choice.search or {})
    return SearchSpace(engine=choice.name, parameters=parameters)


def _parameter(choice: EngineChoice, name: str, *, fields: dict[str, FieldInfo]) -> Parameter:
    if name not in fields:
        near = difflib.get_close_matches(name, fields, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SpaceError(f"{name}: {choice.name} has no such flag; it has {', '.join(fields)}{hint}")
    values = tuple((choice.search or {})[name])
    try:
        return Parameter(name=name, kind="choice", values=values, default=_default(fields[name]))
    except ValidationError as error:
        raise SpaceError(f"{name}: {error.errors()[0]['msg']}") from error


def _default(field: FieldInfo) -> Scalar | None:
    """Return a flag's default where a search can hold it; None where it is something else, or there is none."""
    try:
        return SCALAR.validate_python(field.get_default(call_default_factory=True))
    except ValidationError:
        return None
