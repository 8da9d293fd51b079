"""A search space in Optuna's words, and back. A choice travels as its place in the list, so it may be of any type."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import Assignment, Parameter, SearchSpace


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """Return the space's parameters as Optuna's distributions."""
    return {one.name: _distribution(one) for one in space.parameters}


def to_assignment(space: SearchSpace, params: Mapping[str, Any]) -> Assignment:
    """Read Optuna's parameters as an assignment."""
    return {
        one.name: one.values[params[one.name]] if one.kind == "choice" else params[one.name] for one in space.parameters
    }


def to_params(space: SearchSpace, assignment: Mapping[str, Any]) -> dict[str, Any] | None:
    """Spell an assignment in Optuna's parameters; None where it lies outside the space, as an engine's default may."""
    params: dict[str, Any] = {}
    for one in space.parameters:
        value = assignment.get(one.name)
        if not one.contains(value):
            return None
        params[one.name] = _place(one, value) if one.kind == "choice" else value
    return params


def grid(space: SearchSpace) -> Iterator[Assignment]:
    """Walk every assignment of a finite space; an infinite one is not walked at all."""
    if space.size() is None:
        return iter(())
    names = [one.name for one in space.parameters]
    axes = [_axis(one) for one in space.parameters]
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*axes))


def _distribution(parameter: Parameter) -> BaseDistribution:
    match parameter.kind:
        case "choice":
            return CategoricalDistribution(tuple(range(len(parameter.values))))
        case "int":
            first, last = map(int, parameter.bounds)
            return IntDistribution(first, last, log=parameter.log, step=int(parameter.step or 1))
        case "float":
            low, high = parameter.bounds
            return FloatDistribution(low, high, log=parameter.log, step=parameter.step)


def _place(parameter: Parameter, value: object) -> int:
    """Find a value among the choices; types count, so that 1 is not True."""
    return next(place for place, one in enumerate(parameter.values) if type(one) is type(value) and one == value)


def _axis(parameter: Parameter) -> list[Any]:
    if parameter.kind == "choice":
        return list(parameter.values)
    low, step = parameter.bounds[0], parameter.step or 1
    points = [low + index * step for index in range(parameter.size or 0)]
    return [int(one) for one in points] if parameter.kind == "int" else points
