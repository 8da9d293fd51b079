"""Scrapes an engine's `/metrics`, one short connection a look."""

import http.client
import time
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

from orchestrator.telemetry.exposition import Target, parse_exposition
from orchestrator.telemetry.reading import GapError, Reading

TIMEOUT_S = 5.0


class EngineSource:
    """An engine's own series under canonical names; the time is the middle between asking and hearing."""

    name: ClassVar[str] = "engine /metrics"

    def __init__(self, url: str, targets: Mapping[str, Target]) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or 80
        self._path = parts.path
        self._targets = targets

    def read(self) -> Reading:
        """Scrape once."""
        asked_ns = time.monotonic_ns()
        text = self._fetch()
        heard_ns = time.monotonic_ns()
        try:
            values = parse_exposition(text, self._targets)
        except ValueError as error:
            raise GapError(f"not in the Prometheus format: {error}") from error
        return Reading((asked_ns + heard_ns) // 2, values)

    def _fetch(self) -> str:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        try:
            # A kept connection would hold one of the engine's server threads for good.
            connection.request("GET", self._path, headers={"Connection": "close"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise GapError(f"answered {response.status}")
            return response.read().decode("utf-8", errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise GapError(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()
