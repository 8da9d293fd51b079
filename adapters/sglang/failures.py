"""Why SGLang did not start or did not stay up, read from its log. Total: never raises.

The words are those of its sources, 0.5.23, and of PyTorch; none was seen in a log of ours.
"""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: a failure of a rank also ends in "Received sigquit from a child process", whatever came before it.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (
        r"[Aa]ddress already in use",
        r"EADDRINUSE",
        r"is used by a process already",
        r" at \d+ is not available in \d+ seconds",
    ),
    StartFailure.MISSING_PACKAGE: (r"No module named", r"cannot open shared object file", r"PackageNotFoundError"),
    StartFailure.OUT_OF_MEMORY: (
        r"out of memory",
        r"OutOfMemoryError",
        r"Not enough memory\. Please try to increase --mem-fraction-static",
        r"Cannot allocate memory",
        r"std::bad_alloc",
        r"MemoryError",
    ),
    StartFailure.LOST_DEVICE: (
        r"No accelerator \(",
        r"No CUDA GPUs are available",
        r"no CUDA-capable device",
        r"Found no NVIDIA driver",
        r"not compiled with CUDA enabled",
        r"CUDA error",
        r"NCCL error",
        r"NVML_ERROR",
    ),
    StartFailure.BAD_MODEL: (
        r"Cannot find any model weights",
        r"Model architectures .* are not supported for now",
        r"does not appear to have a file named",
        r"Unrecognized model",
        r"Transformers does not recognize",
        r"SafetensorError",
        r"Error while deserializing header",
    ),
    StartFailure.BAD_FLAG: (
        r"error: (?:unrecognized arguments|argument |ambiguous option)",
        r"is greater than the derived context_length",
        r"assert \S+ % (?:self\.)?tp_size == 0",
        r"Unknown schedule_policy",
        r"requires prefix caching",
        r"is not supported with",
        r"mutually exclusive",
        r"sglang/srt/(?:server_args|arg_groups/\w+)\.py\", line \d+, in (?:check_|_?validate|_?handle)",
    ),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
