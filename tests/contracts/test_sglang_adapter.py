"""SGLang's adapter keeps the rules of every adapter; the engine itself was never run with it."""

from adapters.conformance import AdapterConformance
from adapters.protocol import Hardware
from adapters.samples import sample_model
from adapters.sglang.adapter import SglangAdapter
from adapters.sglang.config import SglangConfig
from tests.contracts.transcripts import read_transcripts

MODEL = sample_model("hf")
GPUS = Hardware(
    cpu_count=64, memory_bytes=1 << 39, gpu_names=("NVIDIA H100 80GB HBM3",) * 8, gpu_memory_bytes=(80 << 30,) * 8
)
EVERYTHING = SglangConfig(
    tp=3,
    pp=2,
    dtype="float16",
    quantization="fp8",
    kv_cache_dtype="fp8_e4m3",
    context_length=4096,
    load_format="dummy",
    mem_fraction_static=0.8,
    max_running_requests=64,
    max_queued_requests=512,
    max_total_tokens=100_000,
    chunked_prefill_size=2048,
    max_prefill_tokens=8192,
    prefill_max_requests=8,
    enable_mixed_chunk=True,
    schedule_policy="lpm",
    schedule_conservativeness=0.6,
    num_continuous_decode_steps=2,
    disable_overlap_schedule=True,
    stream_interval=4,
    page_size=16,
    disable_radix_cache=True,
    radix_eviction_policy="lfu",
    enable_hierarchical_cache=True,
    hicache_ratio=3.0,
    hicache_write_policy="write_back",
    attention_backend="flashinfer",
    prefill_attention_backend="fa3",
    decode_attention_backend="triton",
    cuda_graph_backend_decode="full",
    cuda_graph_backend_prefill="disabled",
    cuda_graph_max_bs_decode=64,
    disable_cuda_graph_padding=True,
    enable_torch_compile=True,
    torch_compile_max_bs=16,
    speculative_algorithm="EAGLE3",
    speculative_draft_model_path="models/draft",
    speculative_num_steps=3,
    speculative_eagle_topk=2,
    speculative_num_draft_tokens=8,
    speculative_ngram_max_bfs_breadth=1,
    speculative_ngram_max_trie_depth=8,
)


class TestSglangAdapter(AdapterConformance):
    adapter = SglangAdapter()
    model = MODEL
    hardware = GPUS
    examples = (EVERYTHING, SglangConfig(tp=3), SglangConfig(chunked_prefill_size=-1))
    transcripts = read_transcripts("sglang")


def test_the_example_sets_every_field() -> None:
    default = SglangConfig()
    assert [name for name in SglangConfig.model_fields if getattr(EVERYTHING, name) == getattr(default, name)] == []


def test_missing_hardware_is_one_reason_in_one_line() -> None:
    (found,) = SglangAdapter().check(EVERYTHING, sample_model("gguf"), Hardware(cpu_count=2, memory_bytes=1 << 34))
    assert (found.key, found.seen) == ("hardware", "no CUDA GPU")
    assert found.allowed == "6 CUDA GPU(s): SGLang runs here on CUDA only"
    assert "\n" not in found.allowed


def test_it_says_that_nobody_has_run_it() -> None:
    assert SglangAdapter.environment.is_tried is False
    assert "never run" in SglangAdapter.environment.hardware


def test_it_listens_on_loopback_only() -> None:
    argv = SglangAdapter().launch_plan(SglangConfig(), MODEL, ports={"http": 8080, "nccl": 8081}).argv
    assert [word for word in argv if word.startswith("--host")] == ["--host=127.0.0.1"]
