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
    "states",
    "input_lengths",
    "input_jitter",
    "output_lengths",
    "output_jitter",
    "session_turns",
    "session_think",
    "session_new_tokens",
    "session_first_tokens",
    "prefix_share",
    "prefix_choice",
    "prefix_rows",
    "mix",
    "spread",
    "thinning",
    "random_tokens",
    "lora",
]
SEED_BYTES = 7


def uniforms(seed: int, name: StreamName, count: int, *, scope: str = "") -> NDArray[np.float64]:
    """Draw `count` numbers in [0, 1) from a named stream; a longer draw begins with the shorter one.

    `scope` tells equal streams of two parts of the traffic apart, such as two clients.
    """
    return open_stream(seed, name, scope=scope).random(count)


def open_stream(seed: int, name: StreamName, *, scope: str = "") -> np.random.Generator:
    """Open a named stream at its beginning; taking it in pieces gives the same numbers as taking it at once."""
    full_name = f"{scope}/{name}" if scope else name
    words = np.frombuffer(hashlib.sha256(full_name.encode()).digest(), dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def derive_seed(seed: int, scope: str) -> int:
    """Return the seed of a part of the traffic for draws that know no scope; the seed itself where there is none."""
    if not scope:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{scope}".encode()).digest()[:SEED_BYTES], "little")
