"""Delivers operations to a tracker in order; while it is away they wait in the store and are caught up later.

An outage costs nothing but this backlog. At least once: an operation may be applied again after a kill, which it bears.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.tracking.append_log import open_log
from orchestrator.tracking.operations import OPERATIONS, Operation
from orchestrator.tracking.store import Store

FIRST_RETRY_S = 2.0
LAST_RETRY_S = 30.0


class UnreachableError(Exception):
    """The tracker does not answer now; the operation is kept."""


class RefusedError(Exception):
    """The tracker answered and will never take this operation; it is set aside and said."""


class Sink(Protocol):
    """Applies operations to a tracker."""

    def apply(self, operation: Operation) -> None:
        """Apply one operation; a second time changes nothing.

        Raises:
            UnreachableError: try again later.
            RefusedError: never try again.
        """
        ...


class Spool:
    """One study's way to its tracker: straight through while it answers, first in first out when it comes back."""

    def __init__(self, store: Store, study_id: str, *, connect: Callable[[], Sink], clock: Clock) -> None:
        self._store = store
        self._cursor = f"studies/{study_id}/spool.taken"
        self._log = open_log(store, f"studies/{study_id}/spool")
        self._refused = open_log(store, f"studies/{study_id}/refused")
        self._connect = connect
        self._clock = clock
        self._sink: Sink | None = None
        self._log.cut()
        self._taken = self._read_taken()
        self._waiting = deque(OPERATIONS.validate_json(line) for line in self._log.read().whole[self._taken :])
        self._retry_s = FIRST_RETRY_S
        self._next_try_s = 0.0
        self.last_error: str | None = None
        self.num_refused = 0

    @property
    def num_waiting(self) -> int:
        """Return how many operations the tracker has not taken yet."""
        return len(self._waiting)

    def deliver(self, operation: Operation) -> None:
        """Apply an operation, or keep it behind those that wait already."""
        if not self._waiting and self._is_due() and self._apply(operation):
            return
        self._log.append(OPERATIONS.dump_json(operation))
        self._waiting.append(operation)
        if self._is_due():
            self.catch_up()

    def catch_up(self) -> int:
        """Apply what waits, in order, until the tracker fails; return how many are left."""
        before = self._taken
        while self._waiting and self._apply(self._waiting[0]):
            self._waiting.popleft()
            self._taken += 1
        if not self._waiting:
            self._forget()
        elif self._taken != before:
            self._store.put(self._cursor, str(self._taken).encode())
        return len(self._waiting)

    def _apply(self, operation: Operation) -> bool:
        try:
            if self._sink is None:
                self._sink = self._connect()
            self._sink.apply(operation)
        except UnreachableError as error:
            self.last_error = str(error)
            self._next_try_s = self._clock.now_ns() / NS_PER_S + self._retry_s
            self._retry_s = min(2 * self._retry_s, LAST_RETRY_S)
            return False
        except RefusedError as error:
            self._set_aside(operation, error)
        self._retry_s = FIRST_RETRY_S
        return True

    def _set_aside(self, operation: Operation, error: RefusedError) -> None:
        self.last_error = str(error)
        self.num_refused += 1
        self._refused.append(OPERATIONS.dump_json(operation))

    def _is_due(self) -> bool:
        return self._clock.now_ns() / NS_PER_S >= self._next_try_s

    def _forget(self) -> None:
        # The cursor goes first: a kill between the two applies the backlog twice, which it bears, and loses nothing.
        self._store.delete(self._cursor)
        self._log.clear()
        self._taken = 0

    def _read_taken(self) -> int:
        try:
            return int(self._store.get(self._cursor))
        except FileNotFoundError:
            return 0
