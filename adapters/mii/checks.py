"""What makes a configuration of MII impossible, rule by rule."""

from adapters.mii.checkpoint import refusal
from adapters.mii.config import MiiConfig
from adapters.mii.memory import device_bytes
from adapters.protocol import Hardware, ModelRef, Violation

GIB = 1 << 30
HALF = ("f16", "bf16")
NO_GPU = "an NVIDIA GPU of compute capability 8.0 or more, with nvcc: MII loads no model without CUDA and NCCL"


def list_violations(config: MiiConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
    """List what the engine would refuse or could not hold; without a GPU only that, since nothing else matters."""
    if not hardware.has_cuda:
        return [Violation("hardware", "no CUDA device", NO_GPU)]
    return [
        *_check_model(model),
        *_check_parallelism(config, model, hardware),
        *_check_context(config, model),
        *_check_batch(config),
        *_check_quantization(config, model),
        *_check_memory(config, model, hardware),
    ]


def _check_model(model: ModelRef) -> list[Violation]:
    if model.format != "hf":
        return [Violation("model", f"{model.name} as {model.format}", "a Hugging Face folder: MII reads nothing else")]
    if model.weights_precision not in HALF:
        return [Violation("model", model.weights_precision, f"{' or '.join(HALF)}: the engine's kernels take no other")]
    reason = refusal(model.path)
    return [Violation("model", model.name, reason)] if reason else []


def _check_parallelism(config: MiiConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
    found = []
    if config.pp != 1:
        found.append(Violation("pp", config.pp, "1: MII has no pipeline parallelism"))
    devices = len(hardware.gpu_names)
    if config.tp * config.replica_num > devices:
        seen = f"{config.replica_num} replicas of {config.tp}"
        key = "tp" if config.tp > devices else "replica_num"
        found.append(Violation(key, getattr(config, key), f"at most {devices} devices in all; seen {seen}"))
    larger, smaller = max(model.num_kv_heads, config.tp), min(model.num_kv_heads, config.tp)
    if larger % smaller or config.tp > model.num_heads:
        allowed = f"a divisor or a multiple of the {model.num_kv_heads} KV heads, at most the {model.num_heads} heads"
        found.append(Violation("tp", config.tp, allowed))
    return found


def _check_context(config: MiiConfig, model: ModelRef) -> list[Violation]:
    needed = config.min_context_tokens
    if needed > model.context_tokens:
        return [Violation("min_context_tokens", needed, f"at most the model's context, {model.context_tokens}")]
    bounds = (("max_context", config.max_context), ("max_length", config.max_length))
    return [
        Violation(key, seen, f"at least {needed}, the longest request")
        for key, seen in bounds
        if seen is not None and seen < needed
    ]


def _check_batch(config: MiiConfig) -> list[Violation]:
    seen = config.max_ragged_sequence_count
    bounds = (
        ("max_tracked_sequences", config.max_tracked_sequences),
        ("max_ragged_batch_size", config.max_ragged_batch_size),
    )
    return [
        Violation("max_ragged_sequence_count", seen, f"at most {key}, {most}: the engine refuses more")
        for key, most in bounds
        if seen > most
    ]


def _check_quantization(config: MiiConfig, model: ModelRef) -> list[Violation]:
    if config.quantization_mode is None or model.weights_precision == "f16":
        return []
    allowed = (
        f"None for weights in {model.weights_precision}: wf6af16 takes f16 only, on GPUs of compute capability 8.x"
    )
    return [Violation("quantization_mode", config.quantization_mode, allowed)]


def _check_memory(config: MiiConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
    """Compare with the smallest device; activations and the CUDA context come on top."""
    have = min(hardware.gpu_memory_bytes, default=None)
    need = device_bytes(config, model)
    if have is None or need <= have:
        return []
    allowed = (
        f"what a device of {have / GIB:.1f} GiB holds; weights, KV cache and reservation take {need / GIB:.1f} GiB"
    )
    return [Violation("memory_config_size", config.memory_config_size, allowed)]
