"""Why vLLM did not start or did not stay up, read from its log. Total: never raises."""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: almost every failure ends in "Engine core initialization failed", whatever came before it.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (r"[Aa]ddress already in use", r"EADDRINUSE"),
    StartFailure.MISSING_PACKAGE: (r"No module named", r"cannot open shared object file", r"PackageNotFoundError"),
    StartFailure.OUT_OF_MEMORY: (
        r"CUDA out of memory",
        r"OutOfMemoryError",
        r"No available memory for the cache blocks",
        r"larger than the (?:available|maximum number of tokens)",
        r"less than desired GPU memory utilization",
        r"Cannot allocate memory",
        r"not enough memory",
        r"DefaultCPUAllocator: can't allocate",
        r"MemoryError",
    ),
    StartFailure.LOST_DEVICE: (r"CUDA error", r"no CUDA-capable device", r"NVML_ERROR", r"ncclUnhandledCudaError"),
    StartFailure.BAD_MODEL: (
        r"does not appear to have a file named",
        r"Repo id must be in the form",
        r"Unrecognized model",
        r"model type .* but Transformers does not recognize",
        r"not supported for now",
        r"Model architectures .* (?:failed to be inspected|are not supported)",
        r"SafetensorError",
        r"Error while deserializing header",
        r"Cannot find any model weights",
        r"Invalid repository ID or local directory",
    ),
    StartFailure.BAD_FLAG: (
        r"error: (?:unrecognized arguments|argument )",
        r"invalid choice",
        r"must be divisible by tensor parallel size",
        r"[Nn]ot enough allowed NUMA nodes",
        r"doesn't match local world size",
        r"is not supported for quantization",
        r"Unknown quantization method",
        r"max_num_batched_tokens \(\d+\)",
        r"User-specified max_model_len",
        r"validation errors? for \w*Config",
    ),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
