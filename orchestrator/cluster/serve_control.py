"""Runs and deletes Serve applications without Serve's one-second polls. The only file that touches Serve's insides.

`serve.run` and `serve.delete` wait in steps of one second, which would be most of a trial's overhead. Their private
siblings return at once; where a later Ray has none, the public ones serve and cost those seconds.
"""

import contextlib
import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import ray
from ray import serve
from ray.exceptions import RayError

POLL_S = 0.02


class AppState(NamedTuple):
    """What Serve says of an application; `message` explains a failure."""

    status: str
    message: str


def run_app(app: serve.Application, *, name: str, route_prefix: str | None) -> Any:  # noqa: ANN401 - handles are generic
    """Begin to deploy an application and return its handle at once."""
    run = getattr(serve.api, "_run", None)
    if run is None:
        return serve.run(app, name=name, route_prefix=route_prefix)
    return run(app, _blocking=False, name=name, route_prefix=route_prefix)


def app_states() -> dict[str, AppState]:
    """Return every application of the cluster by name; empty where Serve does not run."""
    applications = serve.status().applications
    return {name: AppState(str(one.status.value), one.message) for name, one in applications.items()}


def begin_delete(name: str) -> None:
    """Begin to delete an application and return at once; nothing happens where there is none."""
    try:
        serve.delete(name, _blocking=False)
    except TypeError:
        serve.delete(name)


def delete_app(name: str, timeout_s: float) -> bool:
    """Delete an application and return whether it was gone in time."""
    begin_delete(name)
    return await_gone({name}, timeout_s)


def await_gone(names: set[str], timeout_s: float) -> bool:
    """Wait until none of the applications is there and return whether that came in time."""
    give_up_at = time.monotonic() + timeout_s
    while names & app_states().keys():
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(POLL_S)
    return True


def delete_apps(prefix: str, timeout_s: float) -> bool:
    """Delete every application whose name begins like this and return whether all were gone in time."""
    mine = {app for app in app_states() if app.startswith(prefix)}
    for app in mine:
        begin_delete(app)
    return await_gone(mine, timeout_s)


def is_running() -> bool:
    """Return whether Serve runs on the cluster."""
    return serve.context._get_global_client(raise_if_no_controller_running=False) is not None  # noqa: SLF001 - no public call


def await_route(base_url: str, route: str, timeout_s: float) -> bool:
    """Wait until the proxy knows a route and return whether that came in time."""
    give_up_at = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{base_url}/-/routes", timeout=timeout_s) as answer:  # noqa: S310 - our own proxy
            if route in json.load(answer):
                return True
        if time.monotonic() >= give_up_at:
            return False
        time.sleep(POLL_S)


def http_base_url() -> str | None:
    """Return the address of this node's Serve proxy; None where Serve has no proxy."""
    client = serve.context._get_global_client()  # noqa: SLF001 - no public call tells host and port
    if client is None:
        return None
    options = client.http_config
    if str(options.location) in {"NoServer", "DeploymentMode.NoServer", "Disabled"}:
        return None
    host = "127.0.0.1" if options.host in {"0.0.0.0", "", None} else options.host  # noqa: S104 - compared, not bound
    return f"http://{host}:{options.port}"


def nodes() -> list[dict[str, Any]]:
    """Return the cluster's living nodes, as `ray.nodes` tells them."""
    found: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]  # Ray leaves it untyped
    return [node for node in found if node["Alive"]]


def here() -> dict[str, Any]:
    """Return this process's node, as `ray.nodes` tells it."""
    node_id = ray.get_runtime_context().get_node_id()
    return next(node for node in nodes() if node["NodeID"] == node_id)


def all_resources() -> dict[str, float]:
    """Return what the whole cluster has when idle."""
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # as above
    return found


def free_resources() -> dict[str, float]:
    """Return what nobody on the cluster has reserved now."""
    found: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]  # as above
    return found


def session_folder() -> str:
    """Return Ray's own folder on this node, which goes away with a Ray that we started, however it ends."""
    node: Any = ray._private.worker._global_node  # noqa: SLF001 - no public call
    return str(node.get_session_dir_path())


def dead_jobs() -> frozenset[str]:
    """Return the ids of the cluster's Ray jobs whose drivers have ended."""
    table = ray._private.state.jobs()  # type: ignore[no-untyped-call]  # noqa: SLF001 - the public list needs the dashboard
    return frozenset(job["JobID"] for job in table if job["IsDead"])


@contextlib.contextmanager
def ignoring_ray() -> Iterator[None]:
    """Let teardown go on where Ray or Serve is gone already."""
    with contextlib.suppress(RayError, RuntimeError, TimeoutError, ConnectionError):
        yield
