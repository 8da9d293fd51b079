"""What SGLang's series mean in our words. Data only.

It counts no drafted tokens: of speculation it tells means only, so those names have no series here. Prompt tokens are
counted with the cached ones among them, both when a request ends.
"""

from collections.abc import Mapping

from adapters.protocol import ServerMetric

METRICS: Mapping[str, ServerMetric] = {
    "sglang:num_running_reqs": ServerMetric("engine_requests_running", "requests", "gauge"),
    "sglang:num_queue_reqs": ServerMetric("engine_requests_waiting", "requests", "gauge"),
    "sglang:token_usage": ServerMetric("kv_cache_utilization", "ratio", "gauge"),
    "sglang:prompt_tokens_total": ServerMetric(
        "engine_input_tokens", "tokens", "counter", adds_to=("prefix_cache_query_tokens",)
    ),
    "sglang:generation_tokens_total": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "sglang:cached_tokens_total": ServerMetric("prefix_cache_hit_tokens", "tokens", "counter"),
    "sglang:num_retracted_requests_total": ServerMetric("engine_preemptions", "preemptions", "counter"),
    "sglang:time_to_first_token_seconds": ServerMetric("engine_ttft", "seconds", "histogram"),
}
