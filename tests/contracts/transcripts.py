"""Reads recorded and documented streams of an engine, by name."""

from pathlib import Path

STREAMS = Path(__file__).parents[1] / "golden" / "streams"


def read_transcripts(engine: str) -> dict[str, bytes]:
    found = {path.stem: path.read_bytes() for path in sorted((STREAMS / engine).glob("*.sse"))}
    assert found, f"no streams in {STREAMS / engine}"
    return found
