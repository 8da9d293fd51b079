"""What coordinator and load worker say to each other: frames of a length, a kind and a payload.

Payloads are Python's own marshal, which builds plain values only and runs no code; both ends are the same interpreter,
started by us. The one exception is the order, a frozen value of ours that only ever goes from coordinator to worker.
"""

import marshal
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

HEAD = struct.Struct("<IB")


class Kind(IntEnum):
    """What a frame says; the first eight go to a worker, the others come from it."""

    ORDER = 1
    REQUESTS = 2
    WHOLE = 3
    PING = 4
    START = 5
    STOP = 6
    GIVE_UP = 7
    DISMISS = 8
    READY = 9
    PONG = 10
    RECORD = 11
    LOG = 12
    REFUSED = 13


def frame(kind: Kind, payload: bytes) -> bytes:
    """Return one frame."""
    return HEAD.pack(len(payload), kind) + payload


def spell(kind: Kind, value: Any = None) -> bytes:  # noqa: ANN401 - any plain value
    """Return the frame of a plain value: numbers, strings, bytes, tuples, lists, dicts, None."""
    return frame(kind, marshal.dumps(value))


def read(payload: bytes) -> Any:  # noqa: ANN401 - any plain value
    """Return the value of a payload that a process of ours spelt."""
    return marshal.loads(payload)  # noqa: S302 - the other end of the pipe is our own process


class Frames:
    """Cuts a stream of bytes into frames, however it arrives."""

    def __init__(self) -> None:
        self._rest = b""

    def cut(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield kind and payload of each frame that is whole now."""
        data, at = self._rest + data, 0
        while len(data) - at >= HEAD.size:
            length, kind = HEAD.unpack_from(data, at)
            end = at + HEAD.size + length
            if end > len(data):
                break
            yield kind, data[at + HEAD.size : end]
            at = end
        self._rest = data[at:]
