"""What is told to the experiment tracker: operations that may be applied twice without harm, in the order given.

Runs are named by our own ids, so that an operation can be written down while the tracker is away.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter


class _Operation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = Field(description="our id of the run: of a study or a trial")


class OpenRun(_Operation):
    """Make sure that a run exists and is open; `parent` is None for the study's own run."""

    op: Literal["open_run"] = "open_run"
    experiment: str
    name: str
    parent: str | None
    start_ms: int
    tags: dict[str, str]
    params: dict[str, str] = Field(default_factory=dict)


class SetTags(_Operation):
    """Set tags of a run."""

    op: Literal["set_tags"] = "set_tags"
    tags: dict[str, str]


class Point(BaseModel):
    """One metric value at one step and one wall time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: FiniteFloat
    step: int
    time_ms: int


class LogMetrics(_Operation):
    """Add points of metrics to a run."""

    op: Literal["log_metrics"] = "log_metrics"
    points: tuple[Point, ...]


class LogText(_Operation):
    """Attach a text that is too long for a parameter or tag."""

    op: Literal["log_text"] = "log_text"
    path: str
    text: str


class LogFile(_Operation):
    """Attach a file of the store; `path` is its place among the run's artifacts."""

    op: Literal["log_file"] = "log_file"
    key: str
    path: str


class EndRun(_Operation):
    """Close a run."""

    op: Literal["end_run"] = "end_run"
    status: Literal["FINISHED", "FAILED", "KILLED"]
    end_ms: int


Operation = Annotated[
    OpenRun | SetTags | LogMetrics | LogText | LogFile | EndRun,
    Field(discriminator="op"),
]
OPERATIONS: TypeAdapter[Operation] = TypeAdapter(Operation)
