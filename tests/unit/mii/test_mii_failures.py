"""The transcripts were recorded from MII without a GPU, each by making the failure that its name says.

`FROM_SOURCE` are words of MII's, DeepSpeed's and PyTorch's own source for what only a GPU can make happen.
"""

from pathlib import Path

import pytest

from adapters.mii.failures import classify
from adapters.protocol import StartFailure

TRANSCRIPTS = Path(__file__).parent / "transcripts"
EXPECTED = {
    "devices_by_uuid": StartFailure.LOST_DEVICE,
    "missing_model": StartFailure.BAD_MODEL,
    "missing_package": StartFailure.MISSING_PACKAGE,
    "no_compiler": StartFailure.MISSING_PACKAGE,
    "no_nccl": StartFailure.LOST_DEVICE,
    "port_taken": StartFailure.PORT_TAKEN,
    "too_many_sequences": StartFailure.BAD_FLAG,
    "unknown_flag": StartFailure.BAD_FLAG,
    "unknown_model": StartFailure.BAD_MODEL,
}
FROM_SOURCE = {
    "ValueError: Insufficient memory to allocate KV-caches. Required: 2, Available: 1": StartFailure.OUT_OF_MEMORY,
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.": StartFailure.OUT_OF_MEMORY,
    "RuntimeError: Blocked attention requires CUDA compute capability >= 8.0": StartFailure.LOST_DEVICE,
    "ValueError: WF6AF16 quantization is only supported on Ampere architectures": StartFailure.BAD_FLAG,
    "ValueError: There must be at least as many attention heads as there are shards.": StartFailure.BAD_FLAG,
    "RuntimeError: Non-transformer parameters not fully initialized after checkpoint load.": StartFailure.BAD_MODEL,
    "ValueError: Inference V2 cannot serve rope_type='llama3' (LlamaConfig).": StartFailure.BAD_MODEL,
}


@pytest.mark.parametrize("transcript", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_reason_is_read_from_the_log(transcript: Path) -> None:
    assert classify(transcript.read_text()) is EXPECTED[transcript.stem]


def test_every_reason_has_its_transcript() -> None:
    assert {path.stem for path in TRANSCRIPTS.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("words", FROM_SOURCE)
def test_what_only_a_gpu_can_cause_is_known_by_the_sources_words(words: str) -> None:
    assert classify(f"{words}\nRuntimeError: server crashed for some reason, unable to proceed") is FROM_SOURCE[words]


def test_a_crash_without_a_known_reason_is_unknown() -> None:
    assert classify("RuntimeError: server crashed for some reason, unable to proceed") is StartFailure.UNKNOWN
