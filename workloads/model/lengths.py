"""How long prompts and answers are, as parameters from which lengths can be drawn."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from workloads.model.frozen import Frozen

FamilyName = Literal["lognormal", "gamma", "weibull", "pareto", "exponential", "zipf", "pareto_lognormal"]


class QuantileLengths(Frozen):
    """The measured quantiles themselves: `tokens[i]` is the length at `probabilities[i]`; linear in between."""

    kind: Literal["quantiles"] = "quantiles"
    probabilities: tuple[float, ...] = Field(min_length=2)
    tokens: tuple[float, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _ascends(self) -> "QuantileLengths":
        if len(self.probabilities) != len(self.tokens):
            raise ValueError(
                f"expected a length for each of {len(self.probabilities)} probabilities, seen {len(self.tokens)}"
            )
        if list(self.probabilities) != sorted(set(self.probabilities)) or list(self.tokens) != sorted(self.tokens):
            raise ValueError("expected ascending probabilities and lengths")
        if (self.probabilities[0], self.probabilities[-1]) != (0.0, 1.0):
            raise ValueError("expected probabilities from 0 to 1")
        return self


class FamilyLengths(Frozen):
    """A family and its parameters (named as in docs/guides/traffic.md), clipped to [min, max] tokens."""

    kind: Literal["family"] = "family"
    family: FamilyName
    parameters: dict[str, float]
    min: int = Field(default=1, ge=0)
    max: int = Field(ge=1)


LengthModel = Annotated[QuantileLengths | FamilyLengths, Field(discriminator="kind")]


class Dependence(Frozen):
    """How input and output lengths go together: Spearman's rank correlation, drawn by a Gaussian copula."""

    rank_correlation: float = Field(default=0.0, ge=-1, le=1)
