"""The Serve application of one trial: a replica that holds the engine, and passes its bytes through when asked to.

The engine starts when the trial orders it, never by itself: a replica that Serve restarts has no engine and says so.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from orchestrator.cluster import worker_process
from orchestrator.cluster.orders import LEASE_S, Sighting, Started, StartOrder, Trouble
from orchestrator.cluster.placement import serve_options
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import LocalDeployer
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import StopReport
from orchestrator.domain.placement import PlacementPlan

if TYPE_CHECKING:
    import aiohttp

DEPLOYMENT = "engine"
HEALTH_CHECK_PERIOD_S = 2.0
NO_CAP = 1_000_000  # concurrency is the engine's to limit; Serve's default of 5 would be a hidden cap
_NOT_FORWARDED = frozenset({"host", "content-length", "transfer-encoding", "connection", "keep-alive"})


class EngineReplica:
    """Holds one engine. Its health is that the replica answers: what befalls the engine is told to the trial."""

    def __init__(self) -> None:
        self._deployment: LocalDeployment | None = None
        self._session: aiohttp.ClientSession | None = None
        self._renewed_s = time.monotonic()

    async def start(self, order: StartOrder) -> Started | Trouble:
        """Start the engine and return once a real token proved it alive, or why it did not start."""
        return await asyncio.to_thread(self._start, order)

    async def look(self) -> Sighting:
        """Say who answers and whether the engine that was started still runs."""
        return await asyncio.to_thread(self._look)

    async def renew(self) -> None:
        """Note that the trial still lives."""
        self._renewed_s = time.monotonic()

    async def lease_left_s(self) -> float:
        """Return for how long the trial may stay silent before the application belongs to nobody."""
        return LEASE_S - (time.monotonic() - self._renewed_s)

    async def stop(self) -> StopReport | None:
        """Stop the engine and say what was verified; None where none was started."""
        deployment = self._deployment
        return None if deployment is None else await asyncio.to_thread(deployment.stop)

    async def __call__(self, request: Request) -> Response:
        """Pass a request to the engine and its answer back, chunk by chunk, nothing gathered on the way."""
        if self._deployment is None:
            return Response("this replica holds no engine", status_code=503)
        if self._session is None:
            self._session = _open_session()
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        query = f"?{request.url.query}" if request.url.query else ""
        answer = await self._session.request(
            request.method,
            f"{self._deployment.endpoint.base_url}{path}{query}",
            data=await request.body(),
            headers=_forwarded(request.headers),
        )
        return StreamingResponse(_chunks(answer), status_code=answer.status, headers=_forwarded(answer.headers))

    async def __del__(self) -> None:
        if self._session is not None:
            await self._session.close()
        await self.stop()

    def _start(self, order: StartOrder) -> Started | Trouble:
        niceness = worker_process.level()
        try:
            deployment = LocalDeployer(SystemClock()).deploy(order.request())
        except Exception as error:  # noqa: BLE001 - whatever stops a start is told to the trial, whose boundary is there
            return Trouble.of(error)
        self._deployment = deployment
        return Started(
            base_url=deployment.endpoint.base_url,
            served_model=deployment.endpoint.model,
            metrics_url=deployment.metrics_url,
            root_pid=deployment.root_pid,
            replica_pid=os.getpid(),
            node_id=ray.get_runtime_context().get_node_id(),
            log_path=deployment.log_path,
            times=deployment.times,
            argv=deployment.argv,
            resolved=deployment.resolved,
            niceness=niceness,
        )

    def _look(self) -> Sighting:
        if self._deployment is None:
            return Sighting(os.getpid(), Trouble("this replica holds no engine"))
        try:
            self._deployment.check_alive()
        except Exception as error:  # noqa: BLE001 - as at the start
            return Sighting(os.getpid(), Trouble.of(error))
        return Sighting(os.getpid(), None)


def _open_session() -> "aiohttp.ClientSession":
    import aiohttp  # noqa: PLC0415 - a tenth of a replica's start, and only via: serve needs it

    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None))


def _forwarded(headers: Any) -> dict[str, str]:  # noqa: ANN401 - Starlette's and aiohttp's mappings
    return {name: value for name, value in headers.items() if name.lower() not in _NOT_FORWARDED}


async def _chunks(answer: "aiohttp.ClientResponse") -> Any:  # noqa: ANN401 - an async generator of bytes
    async with answer:
        async for chunk in answer.content.iter_any():
            yield chunk


def engine_app(plan: PlacementPlan, runtime_env: Mapping[str, Any]) -> serve.Application:
    """Describe the application of one trial: one replica in the plan's placement group.

    `runtime_env` is the Ray job's. Left out, Serve would take that of the trial's actor, to which Tune adds variables,
    cloud credentials among them, and for which no worker can be started ahead.
    """
    options = serve_options(plan)
    options["ray_actor_options"]["runtime_env"] = dict(runtime_env)
    deployment = serve.deployment(
        name=DEPLOYMENT,
        num_replicas=1,
        max_ongoing_requests=NO_CAP,
        health_check_period_s=HEALTH_CHECK_PERIOD_S,
        graceful_shutdown_wait_loop_s=0.05,
        graceful_shutdown_timeout_s=5.0,
        logging_config={"enable_access_log": False, "log_level": "WARNING"},
        **options,
    )
    return deployment(EngineReplica).bind()
