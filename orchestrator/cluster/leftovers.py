"""Removes what a dead driver left on a cluster, at the next start. Never touches what somebody may still own."""

import logging
import time

from ray import serve

from orchestrator.cluster import names, serve_control

ANSWER_TIMEOUT_S = 5.0
DELETE_TIMEOUT_S = 15.0

logger = logging.getLogger(__name__)


def reap() -> tuple[str, ...]:
    """Delete our applications whose owner's Ray job has ended and whose lease has run out, and return their names.

    A lease that still runs is waited for once: a dead driver cannot renew it.
    """
    dead = serve_control.dead_jobs()
    ours = [app for app in serve_control.app_states() if names.owner_of(app) in dead]
    return tuple(app for app in ours if _has_run_out(app) and _delete(app))


def _has_run_out(app: str) -> bool:
    left_s = _lease_left_s(app)
    if left_s > 0:
        time.sleep(left_s)
        left_s = _lease_left_s(app)
    return left_s <= 0


def _lease_left_s(app: str) -> float:
    try:
        left_s: float = serve.get_app_handle(app).lease_left_s.remote().result(timeout_s=ANSWER_TIMEOUT_S)
    except Exception:  # noqa: BLE001 - a replica that cannot answer renews no lease, whatever ails it
        return 0.0
    return left_s


def _delete(app: str) -> bool:
    logger.warning("removing %s: the job that owned it has ended", app)
    return serve_control.delete_app(app, DELETE_TIMEOUT_S)
