"""What a load worker is told to do: its share of a replay, as one frozen value."""

import pickle
from dataclasses import dataclass

from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.replay.session import Timing
from orchestrator.replay.workers.wire import Kind, frame


@dataclass(frozen=True, slots=True)
class Order:
    """One worker's share; `load` is its part of the whole, `cpus` the cores that it is kept on, None for any."""

    endpoint: Endpoint
    load: OfferedLoad
    timing: Timing
    dialect: Dialect
    cpus: tuple[int, ...] | None
    stays_awake: bool = False

    def spell(self) -> bytes:
        """Return the order as a frame; it carries the key, so it goes through the pipe and never into a command."""
        return frame(Kind.ORDER, pickle.dumps(self))


def read_order(payload: bytes) -> Order:
    """Return the order that the process which started this one has spelt; never called on anything else."""
    order = pickle.loads(payload)  # noqa: S301 - from the parent, which decides what runs here anyway
    if not isinstance(order, Order):
        raise TypeError(f"expected an order, seen {type(order).__name__}")
    return order


def share_out(load: OfferedLoad, workers: int) -> list[OfferedLoad]:
    """Return each worker's part of a load: equal rates, or users spread evenly; fewer parts where users are fewer."""
    match load:
        case OpenLoad(rate_rps=rate_rps):
            return [OpenLoad(rate_rps=rate_rps / workers)] * workers
        case ClosedLoad(users=users):
            parts = min(workers, users)
            return [ClosedLoad(users=users // parts + (at < users % parts)) for at in range(parts)]


def cores_of(cpus: tuple[int, ...] | None, workers: int) -> list[tuple[int, ...] | None]:
    """Return each worker's core, in turn where workers are more than cores; None where none were chosen."""
    return [None if cpus is None else (cpus[at % len(cpus)],) for at in range(workers)]
