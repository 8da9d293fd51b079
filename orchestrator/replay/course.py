"""One replay's course through its phases: warm-up and window while requests go out, then the drain."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.clock import NS_PER_S
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.records import Window
from orchestrator.replay.client import Client
from orchestrator.replay.flow import Monitor
from orchestrator.replay.issue import Issuer
from orchestrator.replay.supply import Supply
from orchestrator.replay.vigil import Vigil
from orchestrator.replay.watch import Watch


@dataclass(slots=True)
class Course:
    """What moves in one replay; `early_stop` says why its load was given up, at `given_up_ns`."""

    client: Client
    issuer: Issuer
    supply: Supply
    now: Callable[[], int]
    monitor: Monitor | None = None
    stop: threading.Event | None = None
    early_stop: str | None = None
    given_up_ns: int | None = None
    stays_awake: bool = False

    async def run(self, start_ns: int, window: Window, *, drain_ns: int) -> Watch:
        """Go through all phases; nothing is in flight afterwards. Return what the watch saw."""
        vigil = self._keep_awake()
        watch = Watch(self.now, window, self._tick, idle_ns=lambda: vigil.idle_ns if vigil is not None else 0)
        try:
            self.issuer.begin(start_ns, window)
            # What is overdue at the window's end goes out first: leaving it unsent would hide the client's own stall.
            await watch.until(
                lambda at: (at >= window.end_ns and not self.issuer.is_behind) or self._is_over(at, window)
            )
            self.issuer.close()
            watch.end_window(self.now())
            drain_end_ns = self.now() + drain_ns
            await watch.until(lambda at: not self.client.in_flight or at >= drain_end_ns or self.is_stopped)
            reason = f"not answered within the drain of {drain_ns / NS_PER_S:g} s"
            self.client.cancel_all("stopped" if self.is_stopped else reason)
        finally:
            watch.close()
            if vigil is not None:
                vigil.close()
        return watch

    def _keep_awake(self) -> Vigil | None:
        """Return what keeps the loop awake; None where it may sleep, or where its idle time could not be told."""
        if not self.stays_awake or self.client.num_acts is None:
            return None
        return Vigil(asyncio.get_running_loop(), self.now, lambda: self.client.num_acts or 0)

    @property
    def is_stopped(self) -> bool:
        """Say whether the replay was stopped from outside."""
        return self.stop is not None and self.stop.is_set()

    def cut(self, window: Window) -> Window:
        """Return the window up to where the requests were used up or the load was given up.

        Raises:
            MeasurementRefusedError: the requests were used up before the window began.
        """
        ends_ns = [at for at in (self.issuer.exhausted_ns, self.given_up_ns) if at is not None]
        end_ns = min((*ends_ns, window.end_ns))
        if end_ns <= window.start_ns:
            raise MeasurementRefusedError(
                f"{self.supply.num_taken} requests were used up before the window began; "
                "prepare more or shorten the warm-up"
            )
        return Window(window.start_ns, end_ns)

    def _tick(self, now_ns: int) -> None:
        self.client.expire(now_ns)
        if self.supply.fill():
            self.issuer.supplied()

    def _is_over(self, now_ns: int, window: Window) -> bool:
        if self.monitor is not None and now_ns > window.start_ns:
            self.early_stop = self.monitor.give_up(now_ns, self.client.in_flight)
            if self.early_stop is not None:
                self.given_up_ns = now_ns
                self.issuer.close()
                return True
        return self.issuer.exhausted_ns is not None or self.is_stopped
