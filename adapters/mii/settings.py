"""Our configuration as the arguments of MII's `MIIConfig`, every setting and every port spelled out. Starts nothing."""

from collections.abc import Mapping
from typing import Any

from adapters.mii.config import MiiConfig
from adapters.protocol import ModelRef

PORT_NAMES = ("http", "load_balancer", "rank", "torch", "zmq")
"""What MII listens on. Further replicas and ranks take the ports that follow the last three."""

HOST = "localhost"  # the engine tells hosts apart by name


def render_settings(config: MiiConfig, model: ModelRef, ports: Mapping[str, int]) -> dict[str, Any]:
    """Return the keyword arguments of `MIIConfig`; `gpu_indices` count the devices that the process may see."""
    path = str(model.path)
    model_config = {
        "model_name_or_path": path,
        "tokenizer": path,
        "tensor_parallel": config.tp,
        "replica_num": config.replica_num,
        "max_length": config.max_length,
        "quantization_mode": config.quantization_mode,
        "profile_model_time": config.profile_model_time,
        "sync_debug": config.sync_debug,
        "torch_dist_port": ports["torch"],
        "zmq_port_number": ports["zmq"],
        "replica_configs": [_replica(index, config.tp, ports) for index in range(config.replica_num)],
        "inference_engine_config": {"state_manager": _state_manager(config)},
    }
    return {"deployment_name": "seatrial", "port_number": ports["load_balancer"], "model_config": model_config}


def _state_manager(config: MiiConfig) -> dict[str, Any]:
    return {
        "max_tracked_sequences": config.max_tracked_sequences,
        "max_ragged_batch_size": config.max_ragged_batch_size,
        "max_ragged_sequence_count": config.max_ragged_sequence_count,
        "max_context": config.max_context,
        "memory_config": {"mode": config.memory_config_mode, "size": config.memory_config_size},
    }


def _replica(index: int, tp: int, ports: Mapping[str, int]) -> dict[str, Any]:
    """Describe one replica; rank r of it listens on its first port plus r, which is the engine's own rule."""
    first_rank = index * tp
    return {
        "hostname": HOST,
        "tensor_parallel_ports": [ports["rank"] + first_rank + rank for rank in range(tp)],
        "torch_dist_port": ports["torch"] + index,
        "zmq_port": ports["zmq"] + index,
        "gpu_indices": [first_rank + rank for rank in range(tp)],
    }
