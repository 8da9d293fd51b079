"""Load workers on several nodes of a Ray cluster: one actor a worker starts it beside itself and passes bytes on.

What a worker does, and what it and the coordinator say, is `orchestrator.replay.workers`; here is only the way.
"""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.cluster import worker_process
from orchestrator.domain.errors import DeploymentError
from orchestrator.replay.workers import Channel, launch_process
from orchestrator.replay.workers.channel import OnBytes, OnLost

START_LIMIT_S = 60.0
CALLS_AT_ONCE = 1000
SLIVER_CPUS = 0.01  # as a trial holds: beside an engine on a small machine a whole one may never come


class LoadWorkerHost:
    """An actor that holds one load worker as its child; it and its child die with the coordinator."""

    def __init__(self) -> None:
        worker_process.level()
        self._channel: Channel | None = None
        self._heard: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._parcels: dict[int, bytes] = {}
        self._next = 0

    async def start(self, name: str) -> None:
        """Start the worker."""
        self._channel = await launch_process(name, self._heard.put_nowait, lambda: self._heard.put_nowait(None))

    async def send(self, number: int, data: bytes) -> None:
        """Pass bytes on in the order of their numbers: calls to an actor like this one may overtake each other."""
        self._parcels[number] = data
        while self._channel is not None and self._next in self._parcels:
            self._channel.send(self._parcels.pop(self._next))
            self._next += 1

    async def receive(self) -> bytes | None:
        """Wait for what the worker says next; None once it says no more."""
        said = [await self._heard.get()]
        while said[-1] is not None and not self._heard.empty():
            said.append(self._heard.get_nowait())
        if said[-1] is None and len(said) > 1:
            self._heard.put_nowait(said.pop())
        return None if said[0] is None else b"".join(one for one in said if one is not None)

    async def close(self, *, kill: bool) -> str | None:
        """End the worker and say how it ended where that was not well."""
        return None if self._channel is None else await self._channel.close(kill=kill)


class NodeChannel:
    """The coordinator's side of one load worker on another node."""

    def __init__(self, actor: Any, on_bytes: OnBytes, on_lost: OnLost) -> None:  # noqa: ANN401 - Ray's handles are untyped
        self._actor = actor
        self._numbers = itertools.count()
        self._listening = asyncio.get_running_loop().create_task(self._listen(on_bytes, on_lost))

    def send(self, data: bytes) -> None:
        """Send without waiting; order is kept."""
        self._actor.send.remote(next(self._numbers), data)

    async def close(self, *, kill: bool) -> str | None:
        """End the worker, at once or after what it is at, and say how it ended where that was not well."""
        try:
            end: str | None = await self._actor.close.remote(kill=kill)
        except RayError as error:
            end = f"its actor was lost: {type(error).__name__}"
        self._listening.cancel()
        ray.kill(self._actor)
        return end

    async def _listen(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        try:
            while (data := await self._actor.receive.remote()) is not None:
                on_bytes(data)
        except RayError:  # the actor or its node is gone: `close` says which
            pass
        finally:
            on_lost()


class NodeLaunch:
    """Starts load workers on nodes in turn; each reserves `cpus` of its node, so that Ray puts nothing else there."""

    def __init__(self, node_ids: Sequence[str], *, cpus: float = 1.0) -> None:
        self._node_ids = itertools.cycle(node_ids)
        self._cpus = cpus

    async def __call__(self, name: str, on_bytes: OnBytes, on_lost: OnLost) -> NodeChannel:
        """Start one.

        Raises:
            OSError: its node did not start it in time, or is gone.
        """
        place = NodeAffinitySchedulingStrategy(next(self._node_ids), soft=False)
        options = {"num_cpus": self._cpus, "scheduling_strategy": place, "max_concurrency": CALLS_AT_ONCE}
        host: Any = ray.remote(LoadWorkerHost)
        actor = host.options(**options).remote()
        try:
            async with asyncio.timeout(START_LIMIT_S):
                await actor.start.remote(name)
        except (RayError, TimeoutError) as error:
            ray.kill(actor)
            raise OSError(f"node did not start it within {START_LIMIT_S:g} s: {error!r}") from error
        return NodeChannel(actor, on_bytes, on_lost)


def load_nodes(count: int, *, apart_from: str | None = None) -> tuple[str, ...]:
    """Return the ids of `count` living nodes for load workers, `apart_from` one that the engine has to itself.

    Raises:
        DeploymentError: the cluster has fewer.
    """
    nodes = ray.nodes()  # type: ignore[no-untyped-call]  # Ray leaves it untyped
    alive = sorted(str(one["NodeID"]) for one in nodes if one["Alive"] and one["NodeID"] != apart_from)
    if len(alive) < count:
        raise DeploymentError(
            f"load workers are asked for on {count} nodes, the cluster has {len(alive)}"
            f"{' beside the engine' if apart_from else ''}; start more nodes or ask for fewer"
        )
    return tuple(alive[:count])


def launch_on(count: int | None) -> NodeLaunch | None:
    """Return what starts load workers on `count` nodes; None where the trial's own process sends.

    Engines listen on loopback, so the nodes must be on this machine: raylets with one address.

    Raises:
        DeploymentError: the cluster has fewer nodes, or they are other machines, which cannot reach the engine.
    """
    if count is None:
        return None
    chosen = load_nodes(count)
    here = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]  # Ray leaves it untyped
    addresses = {str(one["NodeManagerAddress"]) for one in ray.nodes() if one["NodeID"] in chosen}  # type: ignore[no-untyped-call]
    if addresses != {here}:
        raise DeploymentError(
            f"load workers on {', '.join(sorted(addresses - {here}))} cannot reach the engine, which listens on "
            f"loopback of {here}; leave deploy.load_nodes out, or give deploy.client_workers"
        )
    return NodeLaunch(chosen, cpus=SLIVER_CPUS)
