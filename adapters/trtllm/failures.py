"""Why TensorRT-LLM did not start or did not stay up, read from its log. Total: never raises.

The words are those of its sources and of public reports; none was seen in a log of ours.
"""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: a failure of a rank also ends in "Executor worker returned error", whatever came before it.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (r"Failed to bind socket to", r"[Aa]ddress already in use", r"EADDRINUSE"),
    StartFailure.MISSING_PACKAGE: (r"No module named", r"cannot open shared object file"),
    StartFailure.OUT_OF_MEMORY: (
        r"insufficient GPU memory",
        r"out of memory",
        r"OutOfMemory",
        r"Cannot allocate memory",
        r"std::bad_alloc",
        r"MemoryError",
    ),
    StartFailure.LOST_DEVICE: (
        r"No GPU devices found on the node",
        r"No CUDA GPUs are available",
        r"no CUDA-capable device",
        r"Found no NVIDIA driver",
        r"CUDA driver version is insufficient",
        r"CUDA (?:runtime )?error",
        r"NCCL error",
        r"NVML_ERROR",
    ),
    StartFailure.BAD_MODEL: (
        r"Failed to infer model format",
        r"failed to load config\.json",
        r"Unknown architecture for AutoModelForCausalLM",
        r"does not appear to have a file named",
        r"Unrecognized model",
        r"SafetensorError",
        r"Error while deserializing header",
    ),
    StartFailure.BAD_FLAG: (
        r"Error: (?:No such option|Invalid value|Missing argument|Option )",
        r"serve\.py: error:",
        r"validation errors? for \w*(?:Args|Config)",
        r"Extra inputs are not permitted",
        r"does not support backend",
        r"is not a known backend",
        r"Please don't set both cuda_graph_config",
        r"Draft model must be provided",
    ),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
