"""Why llama.cpp did not start or did not stay up, read from its log. Total: never raises."""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: a failed allocation or a bad flag also ends in "failed to create_context" and a model loading error.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (r"couldn't bind HTTP server socket", r"[Aa]ddress already in use"),
    StartFailure.MISSING_PACKAGE: (r"No module named", r"cannot open shared object file"),
    StartFailure.OUT_OF_MEMORY: (
        r"insufficient memory",
        r"failed to allocate",
        r"out of memory",
        r"std::bad_alloc",
        r"Cannot allocate memory",
    ),
    StartFailure.LOST_DEVICE: (r"CUDA error", r"no CUDA-capable device", r"ErrorDeviceLost"),
    StartFailure.BAD_FLAG: (
        r"unknown flag",
        r"bad value",
        r"serve\.py: error:",
        r"requires flash_attn",
        r"cache type \S+ with block size \d+ does not divide",
        r"n_seq_max must be",
        r"requires a draft context",
    ),
    StartFailure.BAD_MODEL: (r"gguf_init_from", r"corrupted or incomplete", r"error loading model"),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
