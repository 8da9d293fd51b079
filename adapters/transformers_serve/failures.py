"""Why `transformers serve` did not start or did not stay up, read from its log. Total: never raises."""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: a missing package and a lack of memory end in the same traceback as a bad model.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (r"[Aa]ddress already in use",),
    StartFailure.MISSING_PACKAGE: (
        r"No module named",
        r"Missing dependencies for serving",
        r"doesn't seem to be installed",
        r"requires (?:bitsandbytes|`?accelerate)",
        r"cannot open shared object file",
    ),
    StartFailure.OUT_OF_MEMORY: (
        r"CUDA out of memory",
        r"OutOfMemoryError",
        r"Memory footprint \d+ is more than available memory",
        r"Invalid values: max_batch_tokens = \d+, num_sectors = -?\d+",
        r"No requests can be scheduled and no requests can be offloaded",
        r"not enough memory: you tried to allocate",
        r"can't allocate memory",
        r"Cannot allocate memory",
        r"MemoryError",
    ),
    StartFailure.LOST_DEVICE: (
        r"Torch not compiled with CUDA",
        r"CUDA error",
        r"[Nn]o CUDA-capable device",
        r"No CUDA GPUs",
    ),
    StartFailure.BAD_FLAG: (
        r"No such option",
        r"Error: Invalid value for '--",
        r"serve --help' for full details",  # where the help that follows pushes the reason out of the tail
        r"Unsupported (?:dtype|quantization method|attention implementation)",
        r"is not supported for continuous batching",
        r"page_size must be at least",
    ),
    StartFailure.BAD_MODEL: (
        r"Repo id must be in the form",
        r"Unrecognized (?:model|processing class|configuration class)",
        r"does not appear to have a file named",
        r"does not recognize this architecture",
        r"SafetensorError",
        r"has no attribute \w+For\w+",
        r"outgoing traffic has been disabled",
        r"couldn't connect to '",
    ),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
