"""Where an engine's ranks go: a pure plan that the cluster only translates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.errors import InputError

Strategy = Literal["PACK", "STRICT_PACK", "SPREAD", "STRICT_SPREAD"]


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """Bundles of resources (Ray's words: CPU, GPU, custom) and how they lie to each other.

    `devices` is what the plan takes from the device queue.
    """

    bundles: tuple[Mapping[str, float], ...]
    strategy: Strategy
    devices: int


def plan_placement(
    executor: Literal["process", "ranks", "ray"],
    *,
    tp: int,
    pp: int,
    device: str,
    per_device: float = 1.0,
) -> PlacementPlan:
    """Plan the bundles of one engine with `tp * pp` devices of the given Ray resource.

    A process tree gets one fat bundle on one node, since bundles of one device would show it one device
    only; ranks and Ray-native engines get one bundle a rank.

    Raises:
        InputError: a size is not positive.
    """
    if tp < 1 or pp < 1:
        raise InputError(f"tp and pp must be at least 1, seen tp={tp} pp={pp}")
    devices = tp * pp
    match executor:
        case "process":
            return PlacementPlan(({device: devices * per_device},), "STRICT_PACK", devices)
        case "ranks" | "ray":
            return PlacementPlan(tuple({device: per_device} for _ in range(devices)), "PACK", devices)
