"""A workload: the named, seeded description from which schedules are built."""

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from workloads.model import Frozen, TrafficModel
from workloads.synthesis.knobs import Knobs, RateMethod

SHARE_TOLERANCE = 1e-9  # 0.1 + 0.2 + 0.7 is not quite 1
Stop = Literal["forced", "natural"]
AdapterName = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(gt=0, le=1)]


class PublishedSource(Frozen):
    """Traffic made from a published profile in the catalogue."""

    kind: Literal["published"] = "published"
    name: str = Field(description="a name in workloads/catalog, such as chat")
    knobs: Knobs = Field(default_factory=Knobs)


class ProfileSource(Frozen):
    """Traffic made from a profile: a file written by `seatrial profile`, or a model written out here."""

    kind: Literal["profile"] = "profile"
    path: Path | None = None
    traffic: TrafficModel | None = None
    knobs: Knobs = Field(default_factory=Knobs)

    @model_validator(mode="after")
    def _has_one_model(self) -> "ProfileSource":
        if (self.path is None) == (self.traffic is None):
            raise ValueError("expected one of path (a profile's file) and traffic (a model), seen both or neither")
        return self


class TraceSource(Frozen):
    """The very requests of a trace, or a window of it."""

    kind: Literal["trace"] = "trace"
    path: Path
    format: str | None = Field(default=None, description="recognised from the file where left out")
    unit: Literal["s", "ms", "us", "ns"] | None = Field(
        default=None, description="unit of the file's bare times where it is not the format's own"
    )
    start_s: float = Field(default=0.0, ge=0, description="start of the window, seconds of the trace")
    duration_s: float | None = Field(default=None, gt=0, description="length of the window, seconds of the trace")


class FixedSource(Frozen):
    """Requests of one size on a constant or Poisson pattern: for floors and quick looks, not for verdicts."""

    kind: Literal["fixed"] = "fixed"
    input_tokens: int = Field(gt=0)
    output_tokens: int = Field(gt=0)
    pattern: Literal["constant", "poisson"] = "poisson"


Source = Annotated[PublishedSource | ProfileSource | TraceSource | FixedSource, Field(discriminator="kind")]


class LengthScale(Frozen):
    """How lengths are fitted to what a model can carry: factor first, then limits; both are stated in the record."""

    input_factor: float = Field(default=1.0, gt=0)
    output_factor: float = Field(default=1.0, gt=0)
    max_input_tokens: int | None = Field(default=None, gt=0)
    max_output_tokens: int | None = Field(default=None, gt=0)


class Workload(Frozen):
    """Who is sent, how long, with which content. The offered rate belongs to the load, not to the workload.

    `stop: natural` lets the model end its answers; the schedule's output lengths are then upper bounds. `lora` gives
    shares of the requests to LoRA adapters by the names under which the engine serves them.
    """

    source: Source = Field(default_factory=lambda: PublishedSource(name="chat"))
    lengths: LengthScale = Field(default_factory=LengthScale)
    content: Literal["english", "corpus", "random"] = "english"
    corpus: Path | None = Field(default=None, description="a UTF-8 text file, for content: corpus")
    dialect: Literal["completions", "chat"] = "completions"
    rate_method: RateMethod = Field(
        default="compress",
        description="how traffic is brought to another rate: time compressed, or requests dropped (thin; made traffic "
        "keeps its own time and has its intensity scaled)",
    )
    stop: Stop = Field(default="forced", description="forced: answers have the schedule's lengths; natural: at most")
    lora: dict[AdapterName, Share] = Field(
        default_factory=dict, description="share of requests of each LoRA adapter; the rest asks the base model"
    )
    seed: int = Field(default=0, ge=0)

    @field_validator("lora")
    @classmethod
    def _shares_fit(cls, value: dict[str, float]) -> dict[str, float]:
        total = math.fsum(value.values())
        if total > 1 + SHARE_TOLERANCE:
            raise ValueError(f"expected shares of at most 1 in all, seen {total:g}; the base model takes the rest")
        return dict(sorted(value.items()))

    def __hash__(self) -> int:
        """Hash by content: a mapping has no hash of its own."""
        return hash(self.model_dump_json())
