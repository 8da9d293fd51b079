"""A study has one driver at a time: a lease in the study's store, renewed by a heartbeat, taken over from the dead.

Each taking is a new numbered object that must not exist yet, so that of two takers exactly one wins.
"""

import threading
from types import TracebackType
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from orchestrator.domain.clock import Clock
from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.owner import Owner, is_dead
from orchestrator.tracking.store import Store

TTL_S = 60.0
_BEATS_PER_TTL = 4


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    owner: Owner
    beat_s: float
    ttl_s: float
    is_released: bool = False


class _Standing(NamedTuple):
    number: int
    claim: _Claim | None


class Lease:
    """The right to write one study; renewed in the background until it is closed."""

    def __init__(self, store: Store, study_id: str, *, owner: Owner, clock: Clock, ttl_s: float = TTL_S) -> None:
        self._store = store
        self._folder = f"studies/{study_id}/lease"
        self._study_id = study_id
        self._owner = owner
        self._clock = clock
        self._ttl_s = ttl_s
        self._number = 0
        self._lost: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{study_id}", daemon=True)

    def __enter__(self) -> Self:
        self.take()
        self.keep()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def take(self) -> None:
        """Take the study, from nobody or from a dead driver.

        Raises:
            TrackingError: a living driver holds it; says which.
        """
        standing = self._standing()
        if standing.claim is not None and self._is_held(standing.claim):
            raise TrackingError(self._refusal(standing.claim))
        self._number = standing.number + 1
        try:
            self._store.create(self._key(self._number), self._claim())
        except FileExistsError as error:
            raise TrackingError(f"study {self._study_id} was taken by another driver at this moment") from error
        for number in range(1, self._number):
            self._store.delete(self._key(number))

    def keep(self) -> None:
        """Renew the claim in the background until `close`."""
        self._thread.start()

    def check(self) -> None:
        """Return while the study is ours.

        Raises:
            TrackingError: another driver took it over, because this one did not renew its lease in time.
        """
        if self._lost is not None:
            raise TrackingError(self._lost)

    def renew(self) -> None:
        """Renew the claim once; notes where another driver has taken the study over."""
        standing = self._standing()
        if standing.number != self._number:
            holder = standing.claim.owner if standing.claim else "another driver"
            self._lost = f"study {self._study_id} was taken over by {holder}; this driver stops writing"
            return
        self._store.put(self._key(self._number), self._claim())

    def close(self) -> None:
        """Give the study back. Idempotent."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._number and self._lost is None and self._standing().number == self._number:
            self._store.put(self._key(self._number), self._claim(is_released=True))

    def _beat(self) -> None:
        while not self._stop.wait(self._ttl_s / _BEATS_PER_TTL):
            try:
                self.renew()
            except OSError:
                continue  # a store that is away for a moment; the claim runs out by itself if it stays away
            if self._lost is not None:
                return

    def _is_held(self, claim: _Claim) -> bool:
        if claim.is_released:
            return False
        dead = is_dead(claim.owner)
        return self._clock.wall_s() - claim.beat_s < claim.ttl_s if dead is None else not dead

    def _refusal(self, claim: _Claim) -> str:
        age_s = self._clock.wall_s() - claim.beat_s
        return (
            f"study {self._study_id} is held by {claim.owner}, last heard of {age_s:.0f} s ago; wait for it, "
            f"or stop it (a driver on another machine counts as gone {claim.ttl_s:.0f} s after its last sign of life)"
        )

    def _standing(self) -> _Standing:
        names = self._store.list(self._folder)
        if not names:
            return _Standing(0, None)
        number = int(names[-1].rpartition("/")[2].removesuffix(".json"))
        try:
            return _Standing(number, _Claim.model_validate_json(self._store.get(names[-1])))
        except FileNotFoundError:
            return self._standing()  # a newer taker tidied up between the two reads

    def _key(self, number: int) -> str:
        return f"{self._folder}/{number:06d}.json"

    def _claim(self, *, is_released: bool = False) -> bytes:
        claim = _Claim(owner=self._owner, beat_s=self._clock.wall_s(), ttl_s=self._ttl_s, is_released=is_released)
        return claim.model_dump_json().encode()
