"""What must hold between flags, as data: nothing here is evaluated as code."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from search_spaces.parameter import Scalar

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


class Constraint(BaseModel):
    """`left op factor * right`, or `left in values`; only where every flag of `when` has one of its listed values.

    `left` is a flag, `right` a flag or a number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: str
    op: Literal[">=", ">", "<=", "<", "==", "!=", "in"]
    right: str | int | float | None = None
    values: tuple[Scalar, ...] = ()
    factor: int = Field(default=1, ge=1)
    when: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict)
    why: str = Field(min_length=1)

    @model_validator(mode="after")
    def _has_one_right_side(self) -> "Constraint":
        is_membership = self.op == "in"
        if is_membership != bool(self.values) or is_membership != (self.right is None):
            raise ValueError(f"{self.left} {self.op}: `in` takes values, a comparison takes right; seen {self}")
        return self

    @property
    def names(self) -> frozenset[str]:
        """Return the flags that the constraint reads."""
        right = {self.right} if isinstance(self.right, str) else set()
        return frozenset({self.left, *self.when, *right})

    def violation(self, assignment: Mapping[str, Any]) -> str | None:
        """Say how the assignment breaks the constraint, None where it holds.

        A constraint on a flag that has no value here says nothing: the adapter's check sees the whole configuration.
        """
        if any(assignment.get(name) is None for name in self.names) or not self._applies(assignment):
            return None
        if self._holds(assignment):
            return None
        seen = ", ".join(f"{name}={assignment[name]}" for name in sorted(self.names))
        return f"{self}: {self.why}; seen {seen}"

    def __str__(self) -> str:
        right = f"in {list(self.values)}" if self.op == "in" else f"{self.op} {self._factor_text()}{self.right}"
        when = " and ".join(f"{name} in {list(values)}" for name, values in self.when.items())
        return f"{self.left} {right}" + (f" where {when}" if when else "")

    def _factor_text(self) -> str:
        return f"{self.factor} * " if self.factor != 1 else ""

    def _applies(self, assignment: Mapping[str, Any]) -> bool:
        return all(assignment[name] in values for name, values in self.when.items())

    def _holds(self, assignment: Mapping[str, Any]) -> bool:
        left = assignment[self.left]
        if self.right is None:
            return left in self.values
        right = assignment[self.right] if isinstance(self.right, str) else self.right
        return _COMPARISONS[self.op](left, right if self.factor == 1 else self.factor * right)
