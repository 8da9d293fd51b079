"""What TensorRT-LLM's series mean in our words. Data only.

1.2 has the KV cache's use and the time to first token; the others came after it, and a series that a version lacks is
absent. Tokens are counted when a request ends, drafted ones by their position, so positions add up. Gauges are those
of the last step that it told.
"""

from collections.abc import Mapping

from adapters.protocol import ServerMetric

METRICS: Mapping[str, ServerMetric] = {
    "trtllm_num_requests_running": ServerMetric("engine_requests_running", "requests", "gauge"),
    "trtllm_num_requests_waiting": ServerMetric("engine_requests_waiting", "requests", "gauge"),
    "trtllm_kv_cache_utilization": ServerMetric("kv_cache_utilization", "ratio", "gauge"),
    "trtllm_prompt_tokens_total": ServerMetric(
        "engine_input_tokens", "tokens", "counter", adds_to=("prefix_cache_query_tokens",)
    ),
    "trtllm_prompt_cached_tokens_total": ServerMetric("prefix_cache_hit_tokens", "tokens", "counter"),
    "trtllm_generation_tokens_total": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "trtllm_spec_decode_drafted_tokens_total": ServerMetric("spec_draft_tokens", "tokens", "counter"),
    "trtllm_spec_decode_accepted_tokens_total": ServerMetric("spec_accepted_tokens", "tokens", "counter"),
    "trtllm_time_to_first_token_seconds": ServerMetric("engine_ttft", "seconds", "histogram"),
}
