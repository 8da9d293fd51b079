"""64-bit words mixed to even bits: the finaliser of SplitMix64 (Steele et al., OOPSLA 2014). No secret is in it."""

import numpy as np
from numpy.typing import NDArray

FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))


def mix_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix words one to one."""
    words = (words ^ (words >> SHIFTS[0])) * FACTORS[0]
    words = (words ^ (words >> SHIFTS[1])) * FACTORS[1]
    return words ^ (words >> SHIFTS[2])
