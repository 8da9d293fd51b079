"""What vLLM's series and its configuration dump mean in our words. Data only."""

from collections.abc import Mapping

from adapters.protocol import ServerMetric

METRICS: Mapping[str, ServerMetric] = {
    "vllm:num_requests_running": ServerMetric("engine_requests_running", "requests", "gauge"),
    "vllm:num_requests_waiting": ServerMetric("engine_requests_waiting", "requests", "gauge"),
    "vllm:kv_cache_usage_perc": ServerMetric("kv_cache_utilization", "ratio", "gauge"),  # a share, for all its name
    "vllm:prompt_tokens_total": ServerMetric("engine_input_tokens", "tokens", "counter"),
    "vllm:generation_tokens_total": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "vllm:prefix_cache_queries_total": ServerMetric("prefix_cache_query_tokens", "tokens", "counter"),
    "vllm:prefix_cache_hits_total": ServerMetric("prefix_cache_hit_tokens", "tokens", "counter"),
    "vllm:num_preemptions_total": ServerMetric("engine_preemptions", "preemptions", "counter"),
    "vllm:spec_decode_num_draft_tokens_total": ServerMetric("spec_draft_tokens", "tokens", "counter"),
    "vllm:spec_decode_num_accepted_tokens_total": ServerMetric("spec_accepted_tokens", "tokens", "counter"),
    "vllm:time_to_first_token_seconds": ServerMetric("engine_ttft", "seconds", "histogram"),
}

RESOLVED: Mapping[str, str] = {
    "max_model_len": "model_config.max_model_len",
    "dtype": "model_config.dtype",
    "quantization": "model_config.quantization",
    "enforce_eager": "model_config.enforce_eager",
    "max_num_seqs": "scheduler_config.max_num_seqs",
    "max_num_batched_tokens": "scheduler_config.max_num_batched_tokens",
    "enable_chunked_prefill": "scheduler_config.enable_chunked_prefill",
    "scheduling_policy": "scheduler_config.policy",
    "async_scheduling": "scheduler_config.async_scheduling",
    "stream_interval": "scheduler_config.stream_interval",
    "block_size": "cache_config.block_size",
    "num_gpu_blocks": "cache_config.num_gpu_blocks",
    "kv_cache_size_tokens": "cache_config.kv_cache_size_tokens",
    "kv_cache_dtype": "cache_config.cache_dtype",
    "enable_prefix_caching": "cache_config.enable_prefix_caching",
    "gpu_memory_utilization": "cache_config.gpu_memory_utilization",
    "tensor_parallel_size": "parallel_config.tensor_parallel_size",
    "pipeline_parallel_size": "parallel_config.pipeline_parallel_size",
    "distributed_executor_backend": "parallel_config.distributed_executor_backend",
    "optimization_level": "optimization_level",
}
"""Settings as vLLM resolved them, by their place in its configuration."""
