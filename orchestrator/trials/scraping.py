"""Samples a server that somebody else started: its own metrics, and this machine beside them."""

from pathlib import Path

from adapters import registry
from orchestrator.domain.errors import InputError
from orchestrator.replay.server import has_metrics
from orchestrator.telemetry.collector import Collector


def open_collector(
    base_url: str, server: str, *, metrics_url: str | None, key: str | None, folder: Path
) -> Collector | None:
    """Return a collector of the server's metrics, to be started; None where none are known of.

    The address is `metrics_url`, else `/metrics` of the server where it answers. What its series mean, the adapter of
    the recognised engine says.

    Raises:
        InputError: an address was given, and it cannot be scraped or nobody knows what its series mean.
    """
    is_known = server in registry.BUILT_IN
    if metrics_url is None:
        if not is_known or not base_url.startswith("http://") or not has_metrics(base_url, key):
            return None
        metrics_url = f"{base_url}/metrics"
    if not is_known:
        known = ", ".join(registry.BUILT_IN)
        raise InputError(f"--metrics-url: the server was not recognised as one of {known}, so its series mean nothing")
    if not metrics_url.startswith("http://"):
        raise InputError(
            f"--metrics-url {metrics_url}: expected an http address, such as http://127.0.0.1:8000/metrics"
        )
    return Collector(
        metrics_url=metrics_url, server_metrics=registry.get(server).server_metrics(), root_pid=None, folder=folder
    )
