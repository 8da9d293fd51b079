"""The actor where trials ask the driver's side: for devices, and whether to go on. Decides nothing itself."""

import asyncio
import time
from enum import StrEnum
from typing import Any

import ray

from orchestrator.cluster.queue import DeviceQueue


class Directive(StrEnum):
    """What a trial does before its next step."""

    GO = "go"
    PRUNE = "prune"
    STOP = "stop"


class Desk:
    """Lends devices in the order of asking and passes the driver's directives on to trials."""

    def __init__(self, capacity: int) -> None:
        self._queue = DeviceQueue(capacity)
        self._turns: dict[str, asyncio.Event] = {}
        self._closed: set[str] = set()
        self._pruned: set[str] = set()
        self._is_stopping = False
        self._actors: dict[str, Any] = {}

    async def enter(self, holder: str, actor: Any) -> None:  # noqa: ANN401 - Ray types no actor handle
        """Note the actor that runs a trial, so that the driver can end it."""
        self._actors[holder] = actor

    async def borrow(self, holder: str, devices: int) -> float:
        """Wait for devices and return how long that took, in seconds.

        Raises:
            DeploymentError: there will never be as many.
        """
        began_s = time.monotonic()
        if holder in self._closed:
            return 0.0  # the driver has ended this trial already; its request was still on the way
        turn = self._turns.setdefault(holder, asyncio.Event())
        self._call(self._queue.ask(holder, devices))
        await turn.wait()
        return time.monotonic() - began_s

    async def give_back(self, holder: str) -> None:
        """Take a trial's devices back, or its place in the queue."""
        self._closed.add(holder)
        self._actors.pop(holder, None)
        self._turns.pop(holder, None)
        self._call(self._queue.give_back(holder))

    async def prune(self, holder: str) -> None:
        """Tell a trial to stop before its next load."""
        self._pruned.add(holder)

    async def stop(self) -> None:
        """Tell every trial to stop before its next load."""
        self._is_stopping = True

    async def directive(self, holder: str) -> Directive:
        """Return what a trial does next."""
        if self._is_stopping:
            return Directive.STOP
        return Directive.PRUNE if holder in self._pruned else Directive.GO

    async def actors(self) -> list[Any]:
        """Return the actors of all trials that have not ended."""
        return list(self._actors.values())

    def _call(self, served: tuple[str, ...]) -> None:
        for holder in served:
            self._turns.setdefault(holder, asyncio.Event()).set()


def open_desk(capacity: int) -> Any:  # noqa: ANN401 - Ray types no actor handle
    """Start a desk that lends `capacity` devices; it ends with the driver."""
    return ray.remote(Desk).options(num_cpus=0).remote(capacity)
