"""How a model is cut over ranks, and what each of them holds: what every engine with tensor parallelism shares."""

from collections.abc import Iterator

from adapters.protocol import EngineConfig, Hardware, ModelRef, Violation


def weights_bytes(model: ModelRef) -> int:
    """Return the size of the checkpoint, 0 where it is not on this disk: an estimate is then of the KV cache alone."""
    return sum(one.stat().st_size for one in model.path.glob("*.safetensors")) if model.path.is_dir() else 0


def kv_bytes_per_token(config: EngineConfig, model: ModelRef, *, value_bytes: int) -> int:
    """Return what one token takes on one rank: keys and values of its stage's layers and its share of the KV heads.

    A rank holds at least one KV head: where there are fewer than ranks, they are repeated.
    """
    layers = -(-model.num_layers // config.pp)
    kv_heads = max(1, model.num_kv_heads // config.tp)
    return 2 * layers * kv_heads * (model.hidden_size // model.num_heads) * value_bytes


def cut_violations(config: EngineConfig, model: ModelRef) -> Iterator[Violation]:
    """Yield why the model cannot be cut so: heads that do not divide, more stages than layers."""
    if model.num_heads % config.tp:
        yield Violation("tp", config.tp, f"a divisor of the model's {model.num_heads} attention heads")
    elif max(model.num_kv_heads, config.tp) % min(model.num_kv_heads, config.tp):
        yield Violation("tp", config.tp, f"a divisor or a multiple of the model's {model.num_kv_heads} KV heads")
    if config.pp > model.num_layers:
        yield Violation("pp", config.pp, f"at most the model's {model.num_layers} layers")


def gpu_violations(config: EngineConfig, hardware: Hardware) -> Iterator[Violation]:
    """Yield why there are not enough GPUs for all ranks."""
    gpus = len(hardware.gpu_names)
    if config.tp * config.pp > gpus:
        yield Violation("tp", config.tp, f"tp x pp of at most {gpus} GPU(s), seen {config.tp} x {config.pp}")
