"""When the next request is sent: on a schedule whatever the server does, or when a user has become free."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from orchestrator.domain.records import Window
from orchestrator.replay.alarm import open_alarm
from orchestrator.replay.client import Client
from orchestrator.replay.exchange import Exchange
from orchestrator.replay.supply import Supply

BURST = 32
FAILURE_PAUSE_NS = 100_000_000


class Issuer(Protocol):
    """Decides when requests go out. `exhausted_ns` is when it had none left although it wanted one."""

    exhausted_ns: int | None

    @property
    def is_behind(self) -> bool:
        """Say whether requests that are intended before the window's end are still to be sent."""
        ...

    def begin(self, start_ns: int, window: Window) -> None:
        """Issue from `start_ns` on, nothing at or after the window's end."""
        ...

    def supplied(self) -> None:
        """Know that the supply has grown or has come to its end."""
        ...

    def close(self) -> None:
        """Issue nothing more."""
        ...


class OpenIssuer:
    """Sends every exchange at its absolute time. Late ones go out at once; nothing is ever skipped or waited for."""

    def __init__(self, supply: Supply, client: Client, now: Callable[[], int]) -> None:
        self.exhausted_ns: int | None = None
        self._supply = supply
        self._client = client
        self._now = now
        self._start_ns = 0
        self._end_ns = 0
        self._is_waiting = False
        self._alarm = open_alarm(asyncio.get_running_loop(), self._ring)

    @property
    def is_behind(self) -> bool:
        """Say whether requests that are intended before the window's end are still to be sent."""
        ready = self._supply.ready
        return bool(ready) and self._start_ns + ready[0].request.offset_ns < self._end_ns

    def begin(self, start_ns: int, window: Window) -> None:
        """Issue from `start_ns` on: a request is issued if it is intended before the window's end."""
        self._start_ns, self._end_ns = start_ns, window.end_ns
        self._wait()

    def supplied(self) -> None:
        """Wait for the first of what has come, where nothing was left to wait for."""
        if not self._is_waiting:
            self._wait()

    def close(self) -> None:
        """Issue nothing more."""
        self._end_ns = 0
        self._alarm.close()

    def _ring(self) -> None:
        ready, start_ns, sent = self._supply.ready, self._start_ns, 0
        end_ns = self._end_ns
        while ready and (due_ns := start_ns + ready[0].request.offset_ns) <= self._now() and due_ns < end_ns:
            if sent == BURST:  # behind: let the loop read answers in between
                break
            self._client.send(ready.popleft(), intended_ns=due_ns)
            sent += 1
        self._wait()

    def _wait(self) -> None:
        ready = self._supply.ready
        due_ns = self._start_ns + ready[0].request.offset_ns if ready else self._end_ns
        self._is_waiting = due_ns < self._end_ns
        if self._is_waiting:
            self._alarm.set(due_ns - self._now())


class ClosedIssuer:
    """Keeps N users asking: each asks again when its answer has ended, a failed one after a pause of 0.1 s.

    Users start one after the other over the first half of the warm-up, so that the window sees no start burst.
    """

    def __init__(self, supply: Supply, client: Client, now: Callable[[], int], *, users: int) -> None:
        self.exhausted_ns: int | None = None
        self._supply = supply
        self._starved: list[int] = []
        self._client = client
        self._now = now
        self._users = users
        self._end_ns = 0
        self._loop = asyncio.get_running_loop()
        self._timers: set[asyncio.TimerHandle] = set()

    @property
    def is_behind(self) -> bool:
        """Say no: a user that is free after the window's end does not ask."""
        return False

    def begin(self, start_ns: int, window: Window) -> None:
        """Let the users start."""
        self._end_ns = window.end_ns
        stagger_ns = (window.start_ns - start_ns) // (2 * self._users)
        for user in range(self._users):
            self._later(start_ns + user * stagger_ns - self._now())

    def supplied(self) -> None:
        """Let the users ask who found nothing to ask; they were free from then on."""
        starved, self._starved = self._starved, []
        for free_ns in starved:
            self._ask(free_ns)

    def close(self) -> None:
        """Issue nothing more."""
        self._end_ns = 0
        for timer in self._timers:
            timer.cancel()

    def _later(self, delay_ns: int) -> None:
        def ask() -> None:
            self._timers.discard(timer)
            self._ask(self._now())

        timer = self._loop.call_later(max(0, delay_ns) / 1e9, ask)
        self._timers.add(timer)

    def _ask(self, free_ns: int) -> None:
        if free_ns >= self._end_ns:
            return
        if self._supply.ready:
            self._client.send(self._supply.ready.popleft(), intended_ns=free_ns, on_end=self._ended)
        elif not self._supply.is_whole:
            self._starved.append(free_ns)
        elif self.exhausted_ns is None:
            self.exhausted_ns = free_ns

    def _ended(self, exchange: Exchange) -> None:
        if exchange.failure is None:
            self._ask(self._now())
        elif self._now() < self._end_ns:
            self._later(FAILURE_PAUSE_NS)
