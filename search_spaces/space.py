"""A search space: parameters with their constraints. Draws nothing and deploys nothing."""

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from search_spaces.constraint import Constraint
from search_spaces.parameter import Parameter

Assignment = dict[str, Any]


class SpaceError(ValueError):
    """A search names a flag or a value that the space does not have."""


class SearchSpace(BaseModel):
    """The flags of one engine that may vary; `held` are flags that no longer vary, at the engine's defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    parameters: tuple[Parameter, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    held: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_consistent(self) -> "SearchSpace":
        names = [one.name for one in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.engine}: a parameter is listed twice in {names}")
        known = {*names, *self.held}
        for constraint in self.constraints:
            if not constraint.names <= known:
                raise ValueError(f"{self.engine}: `{constraint}` names unknown flags {constraint.names - known}")
        return self

    def defaults(self) -> Assignment:
        """Return the engine's own value of every parameter that has one."""
        return {one.name: one.default for one in self.parameters if one.default is not None}

    def violations(self, assignment: Mapping[str, Any]) -> list[str]:
        """List the constraints that the assignment breaks; a flag it leaves out is at the engine's default."""
        whole = {**self.held, **self.defaults(), **assignment}
        return [found for one in self.constraints if (found := one.violation(whole)) is not None]

    def size(self) -> int | None:
        """Count assignments before constraints; None where a float has no step."""
        sizes = [one.size for one in self.parameters]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    def restricted(self, search: Mapping[str, Sequence[object]] | None) -> "SearchSpace":
        """Keep only the flags that a study searches, each over the values it lists; None keeps the whole space.

        Raises:
            SpaceError: a flag that the space does not have, or an empty or repeated list of values.
        """
        if search is None:
            return self
        by_name = {one.name: one for one in self.parameters}
        kept = tuple(self._choice(by_name, name, values) for name, values in search.items())
        held = {name: value for name, value in self.defaults().items() if name not in search}
        return self.model_copy(update={"parameters": kept, "held": {**self.held, **held}})

    def without(self, names: Collection[str]) -> "SearchSpace":
        """Keep all flags but these."""
        return self.model_copy(update={"parameters": tuple(one for one in self.parameters if one.name not in names)})

    def fixed(self, values: Mapping[str, Any]) -> "SearchSpace":
        """Take the values that a study fixes for the engine's own defaults, in trial 0 and in constraints."""
        parameters = tuple(
            one.model_copy(update={"default": values[one.name]}) if one.name in values else one
            for one in self.parameters
        )
        searched = {one.name for one in parameters}
        others = {name: value for name, value in values.items() if name not in searched}
        return self.model_copy(update={"parameters": parameters, "held": {**self.held, **others}})

    def _choice(self, by_name: Mapping[str, Parameter], name: str, values: Sequence[object]) -> Parameter:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SpaceError(f"{name}: {self.engine} has no such searchable flag; it has {', '.join(by_name)}{hint}")
        known = by_name[name]
        try:
            return Parameter(
                name=name, kind="choice", values=tuple(values), default=known.default, unit=known.unit, why=known.why
            )
        except ValidationError as error:
            raise SpaceError(f"{name}: {error.errors()[0]['msg']}") from error
