"""Which requests of a schedule ask which LoRA adapter: drawn by share from a random stream of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from workloads.blocks import freeze
from workloads.streams import uniforms
from workloads.workload import SHARE_TOLERANCE

BASE = -1


@dataclass(frozen=True, slots=True)
class LoraMix:
    """Adapters by name, and for each request (int16) the adapter's place among them, -1 for the base model."""

    names: tuple[str, ...]
    choices: NDArray[np.int16]

    def of(self, index: int) -> str | None:
        """Return the adapter that a request asks, None for the base model."""
        choice = int(self.choices[index])
        return None if choice == BASE else self.names[choice]


def draw_mix(shares: Mapping[str, float], count: int, seed: int) -> LoraMix:
    """Draw an adapter or the base model for each of `count` requests; a longer draw begins with the shorter one."""
    names = tuple(sorted(shares))
    bounds = np.array(list(accumulate(shares[name] for name in names)))
    if np.isclose(bounds[-1], 1.0, rtol=0, atol=SHARE_TOLERANCE):
        bounds[-1] = 1.0  # sums of shares are not exact, and no request is left for the base model then
    places = np.searchsorted(bounds, uniforms(seed, "lora", count), side="right")
    return LoraMix(names, freeze(np.where(places == len(names), BASE, places).astype(np.int16)))
