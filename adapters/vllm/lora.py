"""What vLLM would refuse of LoRA settings and adapters, found before it is started. Loads no weights."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adapters.protocol import ModelRef, Violation
from adapters.vllm.config import VllmConfig

DEFAULTS = {"max_loras": 1, "max_lora_rank": 16}
DESCRIPTION = "adapter_config.json"


def lora_violations(config: VllmConfig, model: ModelRef) -> Iterator[Violation]:
    """Yield every reason why the adapters cannot be served, or a setting of theirs would change nothing."""
    if not config.enable_lora:
        for name, default in DEFAULTS.items():
            if getattr(config, name) != default:
                yield Violation(name, getattr(config, name), f"the default, {default}, without enable_lora")
        if config.loras:
            yield Violation("lora_modules", config.lora_modules, "none without enable_lora")
    if config.loras and config.serve_llm:
        yield Violation("lora_modules", config.lora_modules, "none with serve_llm, which loads adapters in its own way")
    names = Counter([model.name, *(name for name, _ in config.loras)])
    for name in (name for name, count in names.items() if count > 1):
        yield Violation("lora_modules", name, f"names that differ from each other and from the model's, {model.name}")
    yield from _adapters(config)


def _adapters(config: VllmConfig) -> Iterator[Violation]:
    for name, folder in config.loras:
        rank = rank_of(Path(folder))
        if rank is None:
            yield Violation("lora_modules", f"{name}={folder}", f"a folder with a {DESCRIPTION} that tells the rank, r")
        elif rank > config.max_lora_rank:
            yield Violation("max_lora_rank", config.max_lora_rank, f"at least {rank}, the rank of adapter {name}")


def rank_of(folder: Path) -> int | None:
    """Return an adapter's rank as it describes itself, None where it does not."""
    try:
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    rank = described.get("r") if isinstance(described, dict) else None
    return rank if isinstance(rank, int) else None
