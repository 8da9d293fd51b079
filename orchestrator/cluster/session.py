"""Opens Ray for a while: attaches to a cluster that is there, or starts one of our own and leaves no process of it.

Shuts down only what it started. Never `ray stop`, which ends every Ray of the machine.
"""

import contextlib
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import ray
from ray import serve
from ray.exceptions import AuthenticationError

from orchestrator.cluster import leftovers, names, serve_control
from orchestrator.cluster.guard import Guard
from orchestrator.cluster.interrupts import no_interrupt
from orchestrator.deploy.supervisor import descendants
from orchestrator.domain.errors import DeploymentError

OBJECT_STORE_BYTES = 128 * 2**20  # tickets and reports are kilobytes; raw data stays in files
MAX_TEMP_CHARS = 24  # Ray puts sockets some 70 characters below, and a socket's path holds 107
DELETE_TIMEOUT_S = 15.0
LOOPBACK = "127.0.0.1"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RaySession:
    """An open Ray; `is_local` where it was started here and ends with the session."""

    is_local: bool


@contextlib.contextmanager
def ray_session(
    address: str | None = None, *, http: bool = True, resources: Mapping[str, float] | None = None
) -> Iterator[RaySession]:
    """Open Ray and Serve, and close what was opened here.

    Attaches to `address`, else to the cluster in RAY_ADDRESS (which a submitted job has), else starts Ray on this
    machine with its cores and the custom `resources`. `http` says whether that one's Serve gets an HTTP proxy, a
    process more, which only `via: serve` needs.

    Raises:
        DeploymentError: the cluster refuses us, or token authentication was switched off for a Ray of our own.
    """
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    target = address or os.environ.get("RAY_ADDRESS")
    opened = _attached(target) if target else _started(http=http, resources=resources or {})
    with opened:
        yield RaySession(is_local=target is None)


@contextlib.contextmanager
def _started(*, http: bool, resources: Mapping[str, float]) -> Iterator[None]:
    mode = os.environ.get("RAY_AUTH_MODE")
    if mode != "token":
        raise DeploymentError(
            f"RAY_AUTH_MODE is {mode!r}; a Ray of our own listens beyond loopback and always asks for a token: unset it"
        )
    before = set(descendants(os.getpid()))
    folder = _temp_folder()
    guard = Guard.post(folder)
    try:
        with _stdout_to_stderr():
            _init_local(folder, resources)
            guard.watch([one for one in descendants(os.getpid()) if one not in before and one.pid != guard.process.pid])
            _start_serve(http=http)
        yield
    finally:
        with no_interrupt(), _stdout_to_stderr():
            ray.shutdown()
            if not guard.dismiss():
                logger.warning("a process of the local Ray could not be ended; its pid is in the log above")


def _init_local(folder: Path, resources: Mapping[str, float]) -> None:
    ray.init(
        num_cpus=os.cpu_count(),
        resources=dict(resources),
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        log_to_driver=False,
        logging_level=logging.WARNING,
        _temp_dir=str(folder),
    )


def _start_serve(*, http: bool) -> None:
    if not http:
        serve.start(proxy_location="Disabled")
        return
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port = probe.getsockname()[1]
    serve.start(proxy_location="HeadOnly", http_options={"host": LOOPBACK, "port": port})


@contextlib.contextmanager
def _attached(address: str) -> Iterator[None]:
    with _stdout_to_stderr():
        _init_attached(address)
        is_ours = not serve_control.is_running()
        if is_ours:
            serve.start()
        else:
            leftovers.reap()
    try:
        yield
    finally:
        with no_interrupt(), _stdout_to_stderr(), serve_control.ignoring_ray():
            _leave(shut_serve_down=is_ours)


def _init_attached(address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except (ConnectionError, AuthenticationError, RuntimeError) as error:
        raise DeploymentError(
            f"Ray at {address} refuses us: {error}; RAY_AUTH_MODE=token must be set alike on every node and client, "
            "and the token must be the cluster's"
        ) from error


def _leave(*, shut_serve_down: bool) -> None:
    serve_control.delete_apps(names.job_prefix(ray.get_runtime_context().get_job_id()), DELETE_TIMEOUT_S)
    if shut_serve_down and not serve_control.app_states():
        serve.shutdown()  # type: ignore[no-untyped-call]  # Ray leaves it untyped
    ray.shutdown()


def _temp_folder() -> Path:
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="seatrial-", dir=base if len(base) <= MAX_TEMP_CHARS else "/tmp"))  # noqa: S108 - short


def _stdout_to_stderr() -> contextlib.redirect_stdout[TextIO]:
    """Send what Ray prints to stderr: stdout belongs to the artefact."""
    return contextlib.redirect_stdout(sys.stderr)
