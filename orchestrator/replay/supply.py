"""Requests on their way to be sent: blocks come in ahead of their times and are made ready off the send path."""

from collections import deque
from collections.abc import Callable, Sequence

from orchestrator.replay.exchange import Exchange
from orchestrator.replay.flow import RequestFeed
from orchestrator.replay.prepared import PreparedRequest

SLICE = 256


class Supply:
    """Exchanges ready to be sent, in order of their times: those of a sequence, then those of a feed."""

    def __init__(
        self,
        requests: Sequence[PreparedRequest],
        feed: RequestFeed | None,
        make: Callable[[PreparedRequest], Exchange],
    ) -> None:
        self.ready = deque(map(make, sorted(requests, key=lambda one: one.offset_ns)))
        self.num_taken = len(requests)
        self._feed = feed
        self._make = make
        self._raw: deque[PreparedRequest] = deque()
        self._is_fed = feed is None

    @property
    def is_whole(self) -> bool:
        """Say whether nothing will become ready any more."""
        return self._is_fed and not self._raw

    def fill(self, *, limit: int | None = SLICE) -> bool:
        """Take what the feed has and make at most `limit` exchanges ready; say whether anything became ready or whole.

        A slice keeps the pause short that this costs the event loop; None makes all ready, before the start.
        """
        if self.is_whole:
            return False
        if self._feed is not None and not self._is_fed:
            self._is_fed = self._feed.is_whole  # asked first: a block may come between the two calls
            block = self._feed.take()
            self.num_taken += len(block)
            self._raw.extend(block)
        count = len(self._raw) if limit is None else min(limit, len(self._raw))
        self.ready.extend(self._make(self._raw.popleft()) for _ in range(count))
        return count > 0 or self.is_whole
