"""What the sampling program is told. Apart from it: its sources import slowly, and its owner needs none of them."""

from typing import Any, NamedTuple


class Order(NamedTuple):
    """What to sample, how often, on which cores, and where the lines go; plain JSON, since models import slowly."""

    path: str
    interval_ns: int
    metrics_url: str | None
    targets: dict[str, list[Any]]
    root_pid: int | None
    devices: list[int] | None
    cpus: list[int] | None
