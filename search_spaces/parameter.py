"""One flag that may vary, and over what. Knows no engine; a default may lie outside the searched values."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StrictInt, StrictStr, model_validator

Scalar = StrictBool | StrictInt | FiniteFloat | StrictStr


class Parameter(BaseModel):
    """A flag under the engine's own name: a choice over `values`, or a range from `low` to `high`, both included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    kind: Literal["choice", "int", "float"]
    values: tuple[Scalar, ...] = ()
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    step: FiniteFloat | None = Field(default=None, gt=0, description="None: 1 for an int, no grid for a float")
    log: bool = Field(default=False, description="whether to search on a logarithmic scale")
    default: Scalar | None = Field(default=None, description="the engine's own; None where it has none")
    unit: str = ""
    why: str = Field(default="", description="what the flag changes, for the person who reads the result")

    @model_validator(mode="after")
    def _is_searchable(self) -> "Parameter":
        if self.kind == "choice":
            self._check_choice()
        else:
            self._check_range()
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the range's ends.

        Raises:
            ValueError: the parameter is a choice.
        """
        if self.low is None or self.high is None:
            raise ValueError(f"{self.name} is a choice over {list(self.values)} and has no bounds")
        return self.low, self.high

    @property
    def size(self) -> int | None:
        """Count the values; None for a float without step."""
        if self.kind == "choice":
            return len(self.values)
        if self.kind == "float" and self.step is None:
            return None
        low, high = self.bounds
        return int((high - low) / (self.step or 1) + 1e-9) + 1  # a step such as 0.1 has no exact binary form

    def contains(self, value: object) -> bool:
        """Say whether the value may be searched; types count, so that 1 is not True."""
        if self.kind == "choice":
            return any(type(one) is type(value) and one == value for one in self.values)
        if isinstance(value, bool) or not isinstance(value, int if self.kind == "int" else int | float):
            return False
        low, high = self.bounds
        return low <= value <= high and self._is_on_grid(value - low)

    def _is_on_grid(self, offset: float) -> bool:
        step = self.step or (1.0 if self.kind == "int" else None)
        return step is None or abs(offset / step - round(offset / step)) < 1e-9  # noqa: PLR2004 - as in `size`

    def _check_choice(self) -> None:
        if not self.values:
            raise ValueError(f"{self.name}: a choice needs at least one value")
        if self.low is not None or self.high is not None or self.step is not None or self.log:
            raise ValueError(f"{self.name}: low, high, step and log belong to a range, not to a choice")
        if len({(type(one), one) for one in self.values}) < len(self.values):
            raise ValueError(f"{self.name}: a value is listed twice in {list(self.values)}")

    def _check_range(self) -> None:
        if self.values:
            raise ValueError(f"{self.name}: values belong to a choice, not to a range")
        if self.low is None or self.high is None or self.low > self.high:
            raise ValueError(f"{self.name}: a range needs low <= high, seen low={self.low} high={self.high}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError(f"{self.name}: a logarithmic range needs low > 0 and no step")
        whole = (self.low, self.high, self.step or 1)
        if self.kind == "int" and any(one != int(one) for one in whole):
            raise ValueError(f"{self.name}: an int range needs whole low, high and step, seen {whole}")
