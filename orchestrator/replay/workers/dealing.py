"""Deals the requests of one schedule to load workers, some seconds ahead of their times, so that memory stays bounded.

In an open loop in turn, so that every slice is the same kind of traffic; in a closed loop to whoever has few left.
"""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.clock import NS_PER_S
from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.workers.member import Member
from orchestrator.replay.workers.wire import Kind, spell

AHEAD_NS = 10 * NS_PER_S
CREDIT = 512  # requests that a closed loop's worker holds beyond two a user: more than it can ask until more come
BLOCK = 64


class Dealer:
    """Hands out a schedule once. `is_done` when there is no more, or none that is intended before `end_ns`."""

    def __init__(
        self, requests: Iterable[PreparedRequest], members: Sequence[Member], *, end_ns: int, is_open: bool
    ) -> None:
        self.is_done = False
        self._requests = _in_time(requests) if is_open else iter(requests)
        self._next: PreparedRequest | None = next(self._requests, None)
        self._members = members
        self._hands: list[list[PreparedRequest]] = [[] for _ in members]
        self._turn = 0
        self._end_ns = end_ns
        self._is_open = is_open

    def deal(self, until_ns: int) -> bool:
        """Deal a block; return whether more is due now. `until_ns`, after the start, bounds an open loop's times.

        Raises:
            ValueError: the times of the schedule go back.
        """
        was_done = self.is_done
        if was_done:
            return False
        has_more = self._deal_by_time(until_ns) if self._is_open else self._deal_by_need()
        for member, hand in zip(self._members, self._hands, strict=True):
            member.give(hand)
            hand.clear()
        if self.is_done:
            for member in self._members:
                member.send(spell(Kind.WHOLE))
        return has_more and not self.is_done

    def _deal_by_time(self, until_ns: int) -> bool:
        for _ in range(BLOCK):
            request = self._next
            if request is None or request.offset_ns >= self._end_ns:
                self.is_done = True
                return False
            if request.offset_ns > until_ns:
                return False
            self._hands[self._turn].append(request)
            self._turn = (self._turn + 1) % len(self._members)
            self._next = next(self._requests, None)
        return True

    def _deal_by_need(self) -> bool:
        for member, hand in zip(self._members, self._hands, strict=True):
            needed = CREDIT + 2 * member.users - len(member.outstanding)
            while len(hand) < min(needed, BLOCK) and not member.is_over:
                if self._next is None:
                    self.is_done = True
                    return False
                hand.append(self._next)
                self._next = next(self._requests, None)
        return any(len(hand) == BLOCK for hand in self._hands)


def _in_time(requests: Iterable[PreparedRequest]) -> Iterator[PreparedRequest]:
    """Yield requests by their times: sorted where all are there, else as they come, which must be in order."""
    if isinstance(requests, tuple | list):
        yield from sorted(requests, key=lambda one: one.offset_ns)
        return
    last_ns = 0
    for one in requests:
        if one.offset_ns < last_ns:
            raise ValueError(
                f"request {one.index} is due at {one.offset_ns} ns, before the one ahead of it ({last_ns} ns)"
            )
        last_ns = one.offset_ns
        yield one
