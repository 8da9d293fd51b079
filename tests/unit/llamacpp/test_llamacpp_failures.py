"""The transcripts were recorded from the engine itself, each by making the failure that its name says."""

from pathlib import Path

import pytest

from adapters.llamacpp.failures import classify
from adapters.protocol import StartFailure

TRANSCRIPTS = Path(__file__).parent / "transcripts"
EXPECTED = {
    "cache_type_block": StartFailure.BAD_FLAG,
    "cache_type_unknown": StartFailure.BAD_FLAG,
    "cut_short": StartFailure.BAD_MODEL,
    "missing_file": StartFailure.BAD_MODEL,
    "missing_package": StartFailure.MISSING_PACKAGE,
    "not_gguf": StartFailure.BAD_MODEL,
    "out_of_memory": StartFailure.OUT_OF_MEMORY,
    "port_taken": StartFailure.PORT_TAKEN,
    "quantised_v_without_flash": StartFailure.BAD_FLAG,
    "too_many_slots": StartFailure.BAD_FLAG,
    "unknown_flag": StartFailure.BAD_FLAG,
    "wrong_type": StartFailure.BAD_FLAG,
}


@pytest.mark.parametrize("transcript", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_reason_is_read_from_the_log(transcript: Path) -> None:
    assert classify(transcript.read_text()) is EXPECTED[transcript.stem]


def test_every_reason_has_its_transcript() -> None:
    assert {path.stem for path in TRANSCRIPTS.glob("*.txt")} == set(EXPECTED)


def test_a_log_without_a_known_reason_is_unknown() -> None:
    assert classify("0.00.002 I srv init: initializing ...\nlistening") is StartFailure.UNKNOWN
