"""Why MII did not start or did not stay up, read from its log. Total: never raises."""

import re
from collections.abc import Mapping

from adapters.protocol import StartFailure

# In this order: whatever a rank died of, the engine adds only that its server crashed.
PATTERNS: Mapping[StartFailure, tuple[str, ...]] = {
    StartFailure.PORT_TAKEN: (r"Address already in use", r"EADDRINUSE", r"Failed to bind to address"),
    StartFailure.MISSING_PACKAGE: (
        r"No module named",
        r"Please install qtorch",
        r"cannot open shared object file",
        r"CUDA_HOME environment variable is not set",
        r"CUDA_HOME does not exist",
        r"Unable to JIT load",
    ),
    StartFailure.OUT_OF_MEMORY: (r"out of memory", r"Insufficient memory to allocate KV-caches", r"std::bad_alloc"),
    StartFailure.LOST_DEVICE: (
        r"doesn't have NCCL built in",
        r"MII needs \d+ devices",
        r"Found no NVIDIA driver",
        r"No CUDA GPUs are available",
        r"no CUDA-capable device",
        r"requires CUDA compute capability",
        r"CUDA error",
        r"NCCL error",
    ),
    StartFailure.BAD_FLAG: (
        r"validation errors? for (ModelConfig|MIIConfig)",
        r"UnknownArgument",
        r"serve\.py: error:",
        r"WF6AF16 quantization is only supported",
        r"attention heads as there are shards",
        r"evenly distribute them",
        r"distribute the groups evenly",
    ),
    StartFailure.BAD_MODEL: (
        r"Unsupported model type",
        r"not fully initialized after checkpoint load",
        r"Cannot find container for",
        r"cannot serve rope_type",
        r"Unrecognized model in",
        r"Repo id must",
        r"is not a local folder and is not a valid model identifier",
        r"SafetensorError",
    ),
}


def classify(log_tail: str) -> StartFailure:
    """Return the first reason whose words the log carries, UNKNOWN where none does."""
    found = (kind for kind, patterns in PATTERNS.items() if any(re.search(one, log_tail) for one in patterns))
    return next(found, StartFailure.UNKNOWN)
