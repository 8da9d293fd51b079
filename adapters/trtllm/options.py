"""The options file of `trtllm-serve`, as one value. Writes nothing.

A group in the file replaces the one that the command makes of its flags, whole. So a group that is named repeats
what the command would have put there.
"""

from typing import Any

from adapters.trtllm.config import FLAGS, GROUPS, TrtllmConfig

OBSERVED = {"return_perf_metrics": True}  # without it there are no Prometheus series
SCHEDULER = {
    "capacity_scheduler_policy": "GUARANTEED_NO_EVICT",
    "dynamic_batch_config": {
        "enable_batch_size_tuning": True,
        "enable_max_num_tokens_tuning": False,
        "dynamic_batch_moving_average_window": 128,
    },
}
"""What `trtllm-serve` itself says of scheduling."""


def options(config: TrtllmConfig) -> dict[str, Any]:
    """Return what the file holds: series switched on, the KV cache's share, and every other setting that changed."""
    found: dict[str, Any] = dict(OBSERVED)
    if config.backend == "pytorch":
        found["enable_iter_perf_stats"] = True  # the series of each step; the other backend always has them
    groups: dict[str, dict[str, Any]] = {
        "kv_cache_config": {"free_gpu_memory_fraction": config.kv_cache_free_gpu_memory_fraction}
    }
    for name, value in config.changed().items():
        group = next((one for one in GROUPS if name.startswith(f"{one}_")), None)
        if group is not None:
            groups.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        elif name not in FLAGS and name not in {"use_cuda_graph", "kv_cache_free_gpu_memory_fraction"}:
            found[name] = value
    if "scheduler_config" in groups:
        groups["scheduler_config"] = SCHEDULER | groups["scheduler_config"]
    if config.speculative_config_decoding_type is None:
        groups.pop("speculative_config", None)
    graphs = {} if config.use_cuda_graph else {"cuda_graph_config": None}
    return {**found, **groups, **graphs}
