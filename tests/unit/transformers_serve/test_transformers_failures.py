"""The transcripts were recorded from the engine itself, each by making the failure that its name says."""

from pathlib import Path

import pytest

from adapters.protocol import StartFailure
from adapters.transformers_serve.failures import classify

TRANSCRIPTS = Path(__file__).parent / "transcripts"
EXPECTED = {
    "allocation_refused": StartFailure.OUT_OF_MEMORY,
    "attention_unknown": StartFailure.BAD_FLAG,
    "bitsandbytes_missing": StartFailure.MISSING_PACKAGE,
    "block_too_small": StartFailure.BAD_FLAG,
    "cache_exhausted": StartFailure.OUT_OF_MEMORY,
    "cache_too_large": StartFailure.OUT_OF_MEMORY,
    "cut_short": StartFailure.BAD_MODEL,
    "dtype_unknown": StartFailure.BAD_FLAG,
    "empty_folder": StartFailure.BAD_MODEL,
    "flash_missing": StartFailure.MISSING_PACKAGE,
    "flex_batched": StartFailure.BAD_FLAG,
    "missing_folder": StartFailure.BAD_MODEL,
    "no_cuda": StartFailure.LOST_DEVICE,
    "no_room_for_a_block": StartFailure.OUT_OF_MEMORY,
    "package_missing": StartFailure.MISSING_PACKAGE,
    "port_taken": StartFailure.PORT_TAKEN,
    "serving_missing": StartFailure.MISSING_PACKAGE,
    "unknown_flag": StartFailure.BAD_FLAG,
    "wrong_type": StartFailure.BAD_FLAG,
}


@pytest.mark.parametrize("transcript", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_reason_is_read_from_the_log(transcript: Path) -> None:
    assert classify(transcript.read_text()) is EXPECTED[transcript.stem]


def test_every_reason_has_its_transcript() -> None:
    assert {path.stem for path in TRANSCRIPTS.glob("*.txt")} == set(EXPECTED)


def test_a_log_without_a_known_reason_is_unknown() -> None:
    assert classify("INFO:     Application startup complete.\n[transformers] Loading /models/m") is StartFailure.UNKNOWN
