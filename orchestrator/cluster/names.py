"""The names that we give things on a cluster, and how to read them again."""

import secrets
from collections.abc import Iterable

from orchestrator.domain.errors import DeploymentError

PREFIX = "seatrial-"


def job_prefix(job_id: str) -> str:
    """Begin the names of all applications that a Ray job owns."""
    return f"{PREFIX}{job_id}-"


def app_prefix(trial_id: str, job_id: str) -> str:
    """Begin the names of one trial's applications."""
    return f"{job_prefix(job_id)}{trial_id}-"


def app_name(trial_id: str, job_id: str) -> str:
    """Name one deployment of a trial. Never twice the same: a process's Serve handles outlive the application."""
    return f"{app_prefix(trial_id, job_id)}{secrets.token_hex(3)}"


def owner_of(app: str) -> str | None:
    """Return the Ray job that owns an application, None where the application is not ours."""
    job_id, dash, trial_id = app.removeprefix(PREFIX).partition("-")
    return job_id if app.startswith(PREFIX) and dash and trial_id else None


def node_resource(resources: Iterable[str]) -> str:
    """Return the resource that only one node has, from the names of its resources.

    Raises:
        DeploymentError: there is none, which no Ray cluster does.
    """
    for name in resources:
        if name.startswith("node:") and not name.startswith("node:__"):
            return name
    raise DeploymentError(f"expected a resource node:<address> on every Ray node, seen {sorted(resources)}")
