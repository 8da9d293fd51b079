"""A LoRA adapter made up for tests of real engines; its values are random."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adapters.protocol import ModelRef
from orchestrator.models.safetensors_file import write_safetensors
from orchestrator.models.tensors import bf16_bits

RANK = 8


def write_lora_adapter(folder: Path, model: ModelRef, *, seed: int = 1) -> Path:
    """Write an adapter of rank 8 on the query and value projections, large enough to change what the model says."""
    rng = np.random.default_rng(seed)
    kv_size = model.hidden_size // model.num_heads * model.num_kv_heads
    tensors: dict[str, NDArray[np.uint16]] = {}
    for layer in range(model.num_layers):
        for name, size in (("q_proj", model.hidden_size), ("v_proj", kv_size)):
            stem = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            down = rng.normal(0, model.hidden_size**-0.5, (RANK, model.hidden_size))
            up = rng.normal(0, 0.5, (size, RANK))
            tensors[f"{stem}.lora_A.weight"] = bf16_bits(down.astype(np.float32)).bits
            tensors[f"{stem}.lora_B.weight"] = bf16_bits(up.astype(np.float32)).bits
    folder.mkdir()
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    about = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": 2 * RANK, "bias": "none"}
    about |= {"target_modules": ["q_proj", "v_proj"], "base_model_name_or_path": model.name}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    return folder
