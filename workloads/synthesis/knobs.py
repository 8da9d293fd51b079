"""Knobs: what a person may change of a traffic model, one trait at a time. Each is named in a schedule's facts.

The offered rate stays the load's own, whatever the knobs say; only a burst comes on top of it.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from workloads.model import Frozen, TrafficModel

RateMethod = Literal["compress", "thin"]
TIMING = ("time_compression", "keep_ratio", "clients", "burstiness", "burst")
Rank = Annotated[int, Field(ge=0)]


class Mix(Frozen):
    """A second kind of traffic beside the first: a profile's file or a model, and its share of the requests."""

    path: Path | None = None
    traffic: TrafficModel | None = None
    share: float = Field(gt=0, lt=1)

    @model_validator(mode="after")
    def _has_one_model(self) -> "Mix":
        if (self.path is None) == (self.traffic is None):
            raise ValueError("expected one of path (a profile's file) and traffic (a model), seen both or neither")
        return self


class Burst(Frozen):
    """Further requests for a while: the rate is `height` times the load's from `at_s` on, for `width_s` seconds."""

    at_s: float = Field(ge=0)
    width_s: float = Field(gt=0)
    height: float = Field(gt=1)


class Knobs(Frozen):
    """What to change; the defaults change nothing. Draws that a knob does not concern stay as they were."""

    time_compression: float = Field(
        default=1.0, gt=0, description="how much faster the model's own time runs, at the same rate: shorter bursts"
    )
    keep_ratio: float = Field(
        default=1.0, gt=0, le=1, description="thin out busier traffic by this ratio: F' = 1 + ratio * (F - 1)"
    )
    clients: tuple[Rank, ...] | None = Field(
        default=None, min_length=1, description="places of the clients to keep, 0 the first; all where left out"
    )
    input_scale: float = Field(default=1.0, gt=0, description="factor on prompt lengths")
    input_shift_tokens: int = Field(default=0, description="added to each prompt, after the factor")
    output_scale: float = Field(default=1.0, gt=0, description="factor on answer lengths")
    burstiness: float = Field(
        default=1.0, gt=0, description="factor on the rate's deviation from its mean, or on the gaps' CV at a flat rate"
    )
    prefix_share: float = Field(default=1.0, ge=0, description="factor on how often requests share a prefix")
    mix: Mix | None = None
    burst: Burst | None = None

    @property
    def timing(self) -> tuple[str, ...]:
        """Name the knobs that are set and act on times alone: a closed loop does without them."""
        plain = Knobs()
        return tuple(name for name in TIMING if getattr(self, name) != getattr(plain, name))

    @property
    def facts(self) -> dict[str, object]:
        """Return the knobs that are set, as JSON-like values; a second model by its digest or its file's name."""
        named = self.model_dump(mode="json", exclude_defaults=True)
        if self.mix is not None and self.mix.traffic is not None:
            named["mix"] = {"traffic": self.mix.traffic.digest, "share": self.mix.share}
        if self.mix is not None and self.mix.path is not None:
            named["mix"] = {"path": self.mix.path.name, "share": self.mix.share}
        return named

    def without_timing(self) -> "Knobs":
        """Return the knobs with those that act on times alone at their defaults."""
        return Knobs(**{name: getattr(self, name) for name in Knobs.model_fields if name not in TIMING})
