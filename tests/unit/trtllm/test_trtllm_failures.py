"""The lines were taken from the engine's sources and from public reports; none was recorded from a run of ours."""

import pytest

from adapters.protocol import StartFailure
from adapters.trtllm.failures import classify

WORKER = "\nRuntimeError: Executor worker returned error\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("RuntimeError: Failed to bind socket to 127.0.0.1:8080: [Errno 98]", StartFailure.PORT_TAKEN),
        ("No module named tensorrt_llm: python has no tensorrt-llm installed", StartFailure.MISSING_PACKAGE),
        ("ImportError: libnvinfer.so.10: cannot open shared object file", StartFailure.MISSING_PACKAGE),
        ("Executor creation failed due to insufficient GPU memory.", StartFailure.OUT_OF_MEMORY),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", StartFailure.OUT_OF_MEMORY),
        ("ValueError: No GPU devices found on the node", StartFailure.LOST_DEVICE),
        ("[TensorRT-LLM][ERROR] CUDA runtime error in cudaMalloc: an illegal access", StartFailure.LOST_DEVICE),
        ("ValueError: Unknown architecture for AutoModelForCausalLM: OddForCausalLM", StartFailure.BAD_MODEL),
        ("Failed to infer model format because no config.json exists in models/sample", StartFailure.BAD_MODEL),
        ("Error: No such option: --no_such_flag", StartFailure.BAD_FLAG),
        ("Error: Invalid value for '--backend': 'x' is not one of 'pytorch', 'tensorrt'", StartFailure.BAD_FLAG),
        (
            "1 validation error for TorchLlmArgs\nno_such_key\n  Extra inputs are not permitted",
            StartFailure.BAD_FLAG,
        ),
        ("ValueError: Speculation type Lookahead does not support backend pytorch", StartFailure.BAD_FLAG),
        ("serve.py: error: argument --options: invalid loads value: '{'", StartFailure.BAD_FLAG),
        ("something that nobody has seen", StartFailure.UNKNOWN),
    ],
)
def test_a_line_of_the_engine_is_classified(line: str, reason: StartFailure) -> None:
    assert classify(line + WORKER) is reason


def test_an_ordinary_start_is_no_failure() -> None:
    assert classify("[TRT-LLM] [I] Using LLM with PyTorch backend\nINFO: Application startup complete.\n") is (
        StartFailure.UNKNOWN
    )
