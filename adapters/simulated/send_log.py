"""What the server really sent and when, one JSON line per request: the truth that a client's figures are held against.

Times are integer nanoseconds of CLOCK_MONOTONIC, comparable with a client's on the same machine.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

BUFFER_BYTES = 1 << 20
Outcome = Literal["completed", "status", "stream_error", "cut", "client_gone", "server_stopped"]


@dataclass(slots=True)
class SendRecord:
    """One request as the server saw it; `due_ns`, `sent_ns` and `chunk_tokens` have one entry per chunk sent.

    A chunk's time is read just before it is handed to the socket. `chunk_tokens` counts the tokens that begin in a
    chunk: 0 for empty and role-only ones. `admitted_ns` is None while the request waits for a place. A tape is sent in
    pieces that know no tokens; `body_bytes` says how much of its body had gone with each, else it is empty.
    """

    index: int
    request_id: str | None
    received_ns: int
    input_tokens: int
    cached_tokens: int = 0
    admitted_ns: int | None = None
    due_ns: list[int] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    chunk_tokens: list[int] = field(default_factory=list)
    body_bytes: list[int] = field(default_factory=list)
    ended_ns: int | None = None
    outcome: Outcome | None = None

    @property
    def output_tokens(self) -> int:
        """Count the tokens sent so far."""
        return sum(self.chunk_tokens)


def _open(path: str) -> IO[str]:
    return Path(path).open("w", encoding="utf-8", buffering=BUFFER_BYTES)


class SendLog:
    """Appends records to a file, or drops them when there is none."""

    def __init__(self, path: str | None) -> None:
        self._file = None if path is None else _open(path)

    def write(self, record: SendRecord) -> None:
        """Append one record; it reaches the file at the next flush."""
        if self._file is not None:
            row = {name: getattr(record, name) for name in record.__slots__} | {"output_tokens": record.output_tokens}
            self._file.write(json.dumps(row, separators=(",", ":")) + "\n")

    def flush(self) -> None:
        """Hand what is buffered to the system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush and close."""
        if self._file is not None:
            self._file.close()
            self._file = None
