"""Named streams of random numbers: each name its own, so that changing one knob leaves the other draws as they were.

Only uniform draws are taken from NumPy; families are made from them by inverse transform, because NumPy keeps the
right to change how its own distributions consume a stream.
"""

import hashlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

StreamName = Literal[
    "arrivals",
    "input_lengths",
    "output_lengths",
    "prefix_share",
    "prefix_choice",
    "spread",
    "thinning",
    "random_tokens",
    "lora",
]


def uniforms(seed: int, name: StreamName, count: int) -> NDArray[np.float64]:
    """Draw `count` numbers in [0, 1) from a named stream; a longer draw begins with the shorter one."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4").tolist()
    sequence = np.random.SeedSequence([seed, *words])
    return np.random.Generator(np.random.PCG64(sequence)).random(count)
