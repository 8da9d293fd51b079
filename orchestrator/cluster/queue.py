"""A fair queue for devices: first come, first served, the large never overtaken. Pure; knows neither Ray nor time."""

from collections import deque
from dataclasses import dataclass, field

from orchestrator.domain.errors import DeploymentError


@dataclass(slots=True)
class DeviceQueue:
    """Who holds how many devices and who waits for them, in the order of asking."""

    capacity: int
    _held: dict[str, int] = field(default_factory=dict)
    _waiting: deque[tuple[str, int]] = field(default_factory=deque)

    @property
    def free(self) -> int:
        """Return how many devices nobody holds."""
        return self.capacity - sum(self._held.values())

    @property
    def holders(self) -> frozenset[str]:
        """Return who holds devices."""
        return frozenset(self._held)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Return who waits, the next to be served first."""
        return tuple(holder for holder, _ in self._waiting)

    def ask(self, holder: str, devices: int) -> tuple[str, ...]:
        """Queue for devices and return who holds some because of it: the asker, or nobody yet.

        Raises:
            DeploymentError: more than there are, so waiting would never end; or the holder asked before.
        """
        if not 1 <= devices <= self.capacity:
            raise DeploymentError(
                f"{holder} asks for {devices} devices, the queue has {self.capacity}; "
                "choose a smaller tp * pp, or raise budget.max_devices on a cluster that has them"
            )
        if holder in self._held or holder in self.waiting:
            raise DeploymentError(f"{holder} holds devices or waits for them already; it must give them back first")
        self._waiting.append((holder, devices))
        return self._serve()

    def give_back(self, holder: str) -> tuple[str, ...]:
        """Take a holder's devices, or its place in the queue, and return who holds some because of it. Idempotent."""
        self._held.pop(holder, None)
        self._waiting = deque(one for one in self._waiting if one[0] != holder)
        return self._serve()

    def _serve(self) -> tuple[str, ...]:
        served = []
        while self._waiting and self._waiting[0][1] <= self.free:
            holder, devices = self._waiting.popleft()
            self._held[holder] = devices
            served.append(holder)
        return tuple(served)
