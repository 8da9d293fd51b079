import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.protocol import ServerMetric
from orchestrator.telemetry.exposition import parse_exposition, plan_targets, target_units

MAPPING = {
    "vllm:num_requests_running": ServerMetric("engine_requests_running", "requests", "gauge"),
    "vllm:kv_cache_usage_perc": ServerMetric("kv_cache_utilization", "ratio", "gauge"),
    "vllm:prompt_tokens_total": ServerMetric("engine_input_tokens", "tokens", "counter"),
    "vllm:generation_tokens": ServerMetric("engine_output_tokens", "tokens", "counter"),
    "vllm:time_to_first_token_ms": ServerMetric("engine_ttft", "s", "histogram", scale=0.001),
}
TARGETS = plan_targets(MAPPING)
TEXT = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total 1234.0
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total 56.0
# TYPE vllm:time_to_first_token_ms histogram
vllm:time_to_first_token_ms_bucket{le="1.0"} 0.0
vllm:time_to_first_token_ms_bucket{le="+Inf"} 2.0
vllm:time_to_first_token_ms_count 2.0
vllm:time_to_first_token_ms_sum 500.0
# TYPE python_gc_objects_collected counter
python_gc_objects_collected_total{generation="0"} 99.0
"""


def test_series_come_under_their_canonical_names() -> None:
    assert parse_exposition(TEXT, TARGETS) == {
        "engine_requests_running": 7.0,
        "kv_cache_utilization": 0.5,
        "engine_input_tokens": 1234.0,
        "engine_output_tokens": 56.0,
        "engine_ttft.sum": 0.5,
        "engine_ttft.count": 2.0,
    }


def test_every_series_has_a_unit() -> None:
    units = target_units(TARGETS)
    assert set(parse_exposition(TEXT, TARGETS)) == set(units)
    assert (units["engine_ttft.sum"], units["engine_ttft.count"]) == ("s", "observations")


def test_what_the_text_lacks_is_absent_and_not_zero() -> None:
    assert parse_exposition("# nothing here\n", TARGETS) == {}


@pytest.mark.parametrize("value", ["NaN", "+Inf"])
def test_values_that_are_not_finite_are_absent(value: str) -> None:
    assert parse_exposition(f"vllm:kv_cache_usage_perc {value}\n", TARGETS) == {}


def test_a_broken_text_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"could not convert|Invalid|labels"):
        parse_exposition("vllm:num_requests_running{engine=0} three\n", TARGETS)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5))
def test_label_sets_of_a_counter_are_summed(values: list[int]) -> None:
    lines = [f'vllm:prompt_tokens_total{{engine="{index}"}} {value}' for index, value in enumerate(values)]
    assert parse_exposition("\n".join(lines) + "\n", TARGETS) == {"engine_input_tokens": float(sum(values))}


def test_parts_that_an_engine_counts_apart_are_added_up() -> None:
    mapping = {
        "computed_total": ServerMetric("engine_input_tokens", "tokens", "counter", adds_to=("queried",)),
        "cached_total": ServerMetric("hit", "tokens", "counter", adds_to=("engine_input_tokens", "queried")),
    }
    values = parse_exposition("computed_total 30\ncached_total 12\n", plan_targets(mapping))
    assert values == {"engine_input_tokens": 42.0, "queried": 42.0, "hit": 12.0}
