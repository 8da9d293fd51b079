"""What flows through a running replay besides bytes: requests in, records out, and a look at how it goes.

Holds the seams only; a session calls them on its event loop, so none may block.
"""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.records import RequestRecord
from orchestrator.replay.prepared import PreparedRequest


class RequestFeed(Protocol):
    """Hands over blocks of requests, in order of their times, ahead of those times."""

    @property
    def is_whole(self) -> bool:
        """Say whether no block will come any more."""
        ...

    def take(self) -> Sequence[PreparedRequest]:
        """Return what has come since the last call; empty where nothing has."""
        ...


class RecordSink(Protocol):
    """Takes each record once, when its request has ended."""

    def put(self, record: RequestRecord) -> None:
        """Take a record."""
        ...


class Monitor(Protocol):
    """Watches requests end and says when there is no use in going on."""

    def ended(self, *, intended_ns: int, ttft_ns: int | None, end_ns: int) -> None:
        """Note the end of a request; `ttft_ns` is from intended arrival, None for one that failed."""
        ...

    def give_up(self, now_ns: int, in_flight: int) -> str | None:
        """Return why the load is hopeless, None to go on; asked every 10 ms from the window's start on."""
        ...
