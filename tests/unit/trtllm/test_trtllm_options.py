from adapters.trtllm.config import TrtllmConfig
from adapters.trtllm.options import options


def test_the_series_are_always_switched_on() -> None:
    assert options(TrtllmConfig()) == {
        "return_perf_metrics": True,
        "enable_iter_perf_stats": True,
        "kv_cache_config": {"free_gpu_memory_fraction": 0.9},
    }
    assert "enable_iter_perf_stats" not in options(TrtllmConfig(backend="tensorrt"))


def test_a_group_repeats_what_the_command_would_have_said() -> None:
    found = options(
        TrtllmConfig(kv_cache_config_dtype="fp8", scheduler_config_capacity_scheduler_policy="MAX_UTILIZATION")
    )
    assert found["kv_cache_config"] == {"free_gpu_memory_fraction": 0.9, "dtype": "fp8"}
    assert found["scheduler_config"]["capacity_scheduler_policy"] == "MAX_UTILIZATION"
    assert found["scheduler_config"]["dynamic_batch_config"]["enable_batch_size_tuning"] is True


def test_no_graphs_are_a_null() -> None:
    assert options(TrtllmConfig(use_cuda_graph=False))["cuda_graph_config"] is None
    assert "cuda_graph_config" not in options(TrtllmConfig())


def test_speculation_is_told_whole_or_not_at_all() -> None:
    assert "speculative_config" not in options(TrtllmConfig(speculative_config_max_draft_len=4))
    found = options(TrtllmConfig(speculative_config_decoding_type="NGram", speculative_config_max_draft_len=4))
    assert found["speculative_config"] == {"decoding_type": "NGram", "max_draft_len": 4}


def test_what_is_a_flag_of_the_command_is_not_in_the_file() -> None:
    found = options(TrtllmConfig(tp=2, max_batch_size=8, enable_chunked_prefill=True, stream_interval=2))
    assert found["stream_interval"] == 2
    assert found.keys() & {"tp", "max_batch_size", "enable_chunked_prefill"} == set()
