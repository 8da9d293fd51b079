"""Asks a deployed engine for a few tokens and for what its metrics are. Off the measured path; times nothing."""

import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from adapters.openai import Dialect, StreamScanner, encode_request
from orchestrator.deploy.readiness import PROMPT
from orchestrator.domain.deployment import Deployment

ANSWER_TIMEOUT_S = 120.0
TOTAL = "_total"


def generate(deployment: Deployment, dialect: Dialect, *, max_tokens: int) -> StreamScanner:
    """Read one streamed answer to its end; its length is forced where the engine can be told to."""
    endpoint = deployment.endpoint
    body = encode_request(PROMPT, endpoint.model, dialect=dialect, max_tokens=max_tokens)
    scanner = dialect.scanner()
    request = urllib.request.Request(endpoint.base_url + dialect.path, body, _headers(endpoint.key))  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:  # noqa: S310 - loopback
        for line in answer:
            scanner.feed(line, time.monotonic_ns())
    scanner.close(time.monotonic_ns())
    return scanner


def series_kinds(metrics_url: str) -> dict[str, str]:
    """Return the kind that the engine's metrics page gives each series; a counter's name is without `_total`."""
    with urllib.request.urlopen(metrics_url, timeout=ANSWER_TIMEOUT_S) as answer:  # noqa: S310 - loopback
        families = text_string_to_metric_families(answer.read().decode())
        return {family.name.removesuffix(TOTAL): family.type for family in families}


def _headers(key: str | None) -> dict[str, str]:
    return {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
