"""Which checkpoints that come quantised vLLM cannot load where it runs. The rules are those of 0.32.0's sources.

Its CPU build carries 4-bit kernels for AVX-512 only, and kernels for FP8 in blocks only for processors with AMX.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from adapters.protocol import Hardware, ModelRef, Violation
from adapters.vllm.config import VllmConfig

HALF_ONLY = frozenset({"awq", "gptq", "fp8"})
FOUR_BITS = frozenset({"awq", "gptq"})
BITS = 4


def quantised_violations(config: VllmConfig, model: ModelRef, hardware: Hardware) -> Iterator[Violation]:
    """Yield every reason why the engine cannot load weights as they come."""
    method = model.weights_precision
    if method in HALF_ONLY and config.dtype == "float32":
        yield Violation("dtype", config.dtype, f"auto, bfloat16 or float16 with {method} weights")
    if hardware.has_cuda:
        return
    settings, flags = _settings(model), hardware.cpu_flags
    if method in FOUR_BITS:
        bits = settings.get("bits", settings.get("w_bit", BITS))
        if bits != BITS:
            yield Violation("model", f"{method} weights of {bits} bits", f"{BITS} bits: its CPU build has no others")
        if flags is not None and "avx2" in flags and "avx512f" not in flags:
            allowed = "other weights: its CPU build has 4-bit kernels for AVX-512 only, which this processor lacks"
            yield Violation("model", f"{method} weights", allowed)
    if method == "fp8" and settings.get("weight_block_size") and flags is not None and "amx_tile" not in flags:
        allowed = "other weights: its CPU build has FP8 in blocks for AMX only, which this processor lacks"
        yield Violation("model", "fp8 weights in blocks", allowed)


def _settings(model: ModelRef) -> Mapping[str, Any]:
    try:
        config = json.loads((model.path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = config.get("quantization_config") if isinstance(config, dict) else None
    return found if isinstance(found, dict) else {}
