"""The lines were taken from the engine's and PyTorch's sources; none was recorded from a run."""

import pytest

from adapters.protocol import StartFailure
from adapters.sglang.failures import classify

CHILD = "\nReceived sigquit from a child process. It usually means the child failed.\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[Errno 98] error while attempting to bind on address: address already in use", StartFailure.PORT_TAKEN),
        ("ValueError: nccl_port at 8081 is not available in 30 seconds.", StartFailure.PORT_TAKEN),
        ("ModuleNotFoundError: No module named 'sgl_kernel'", StartFailure.MISSING_PACKAGE),
        ("ImportError: libcudart.so.13: cannot open shared object file", StartFailure.MISSING_PACKAGE),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", StartFailure.OUT_OF_MEMORY),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.1",
            StartFailure.OUT_OF_MEMORY,
        ),
        (
            "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) or platform plugin is available.",
            StartFailure.LOST_DEVICE,
        ),
        ("torch.AcceleratorError: CUDA error: an illegal memory access was encountered", StartFailure.LOST_DEVICE),
        ("RuntimeError: Cannot find any model weights with `models/sample`", StartFailure.BAD_MODEL),
        ("ValueError: Model architectures ['Odd'] are not supported for now.", StartFailure.BAD_MODEL),
        ("launch_server.py: error: unrecognized arguments: --no-such-flag", StartFailure.BAD_FLAG),
        ("launch_server.py: error: argument --dtype: invalid choice: 'x'", StartFailure.BAD_FLAG),
        (
            "Warning: User-specified context_length (9000) is greater than the derived context_length (8192).",
            StartFailure.BAD_FLAG,
        ),
        ("    assert self.total_num_heads % tp_size == 0\nAssertionError", StartFailure.BAD_FLAG),
        (
            '  File "/x/sglang/srt/arg_groups/validation_hook.py", line 244, in check_server_args\nAssertionError',
            StartFailure.BAD_FLAG,
        ),
        ("something that nobody has seen", StartFailure.UNKNOWN),
    ],
)
def test_a_line_of_the_engine_is_classified(line: str, reason: StartFailure) -> None:
    assert classify(line + CHILD) is reason


def test_an_ordinary_start_is_no_failure() -> None:
    assert classify("server_args=ServerArgs(mem_fraction_static=0.8)\nThe server is fired up and ready to roll!\n") is (
        StartFailure.UNKNOWN
    )
