"""Waits until an engine listens, is healthy and generates real tokens at a settled latency. Off the measured path."""

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from adapters.openai import Dialect, encode_request
from orchestrator.deploy.ports import is_listening
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.endpoint import Endpoint

POLL_S = 0.01
RETRY_S = 0.05
HEALTH_TIMEOUT_S = 5.0
MAX_TOKEN_PROBES = 5
SETTLED_RATIO = 2.0
PROBE_TOKENS = 4
PROMPT = "The capital of France is"
EXCERPT_CHARS = 300


class NotReadyError(Exception):
    """The engine will not become ready: it ended, refuses requests, or the deadline passed."""


class _BusyError(Exception):
    """The engine does not answer yet; it may later."""


class ReadyTimes(NamedTuple):
    """Seconds from the start of the engine's process, as in `StartTimes`."""

    listen_s: float
    health_s: float
    token_s: float


@dataclass(frozen=True, slots=True)
class Probe:
    """How to tell that one engine is ready.

    `watch` raises `NotReadyError` once the engine has ended. `is_owner` says whether the listener is the engine itself.
    `dialect` is how it is asked for a token: as it will be asked in the measurement.
    """

    endpoint: Endpoint
    health_path: str
    began_ns: int
    deadline_ns: int
    watch: Callable[[], None]
    is_owner: Callable[[], bool] = lambda: True
    dialect: Dialect = field(default_factory=Dialect)


def await_ready(probe: Probe, clock: Clock) -> ReadyTimes:
    """Wait for port, health and real tokens whose latency has settled.

    The latency counts as settled when two probes in a row are within a factor of two, at most five probes.

    Raises:
        NotReadyError: the engine ended, refuses a plain request, or its deadline passed; says in which phase.
    """
    host, port = _address(probe.endpoint)
    _poll(probe, clock, "listen on its port", lambda: is_listening(port, host) and probe.is_owner())
    listen_ns = clock.now_ns()
    _poll(probe, clock, f"answer {probe.health_path} with 200", lambda: _health_status(probe, clock) == http.client.OK)
    health_ns = clock.now_ns()
    _settle(probe, clock)
    passed = (listen_ns, health_ns, clock.now_ns())
    return ReadyTimes(*((at_ns - probe.began_ns) / NS_PER_S for at_ns in passed))


def prove_token(endpoint: Endpoint, dialect: Dialect, clock: Clock, *, timeout_s: float) -> None:
    """Return once the engine generated one more real token: a process that runs and a port that listens prove nothing.

    Raises:
        NotReadyError: it did not within `timeout_s`, or refuses.
    """
    now_ns = clock.now_ns()
    deadline_ns = now_ns + round(timeout_s * NS_PER_S)
    probe = Probe(endpoint, "", now_ns, deadline_ns, watch=lambda: None, dialect=dialect)
    seen = ""
    while _remaining_s(probe, clock) > 0:
        try:
            _time_token(probe, clock)
        except _BusyError as error:
            seen = seen or str(error)
            time.sleep(RETRY_S)
        else:
            return
    raise NotReadyError(f"expected a generated token within {timeout_s:g} s, seen: {seen}")


def _address(endpoint: Endpoint) -> tuple[str, int]:
    parts = urlsplit(endpoint.base_url)
    return parts.hostname or "", parts.port or 80


def _remaining_s(probe: Probe, clock: Clock) -> float:
    return (probe.deadline_ns - clock.now_ns()) / NS_PER_S


def _late(probe: Probe, what: str, detail: str = "") -> NoReturn:
    allowed_s = (probe.deadline_ns - probe.began_ns) / NS_PER_S
    raise NotReadyError(f"expected the engine to {what} within {allowed_s:.1f} s of its start; it did not{detail}")


def _poll(probe: Probe, clock: Clock, what: str, is_done: Callable[[], bool]) -> None:
    while not is_done():
        probe.watch()
        if _remaining_s(probe, clock) <= 0:
            _late(probe, what)
        time.sleep(POLL_S)


@contextmanager
def _connection(probe: Probe, timeout_s: float) -> Iterator[http.client.HTTPConnection]:
    host, port = _address(probe.endpoint)
    connection = http.client.HTTPConnection(host, port, timeout=max(timeout_s, POLL_S))
    try:
        yield connection
    finally:
        connection.close()


def _health_status(probe: Probe, clock: Clock) -> int | None:
    path = urlsplit(probe.endpoint.base_url).path + probe.health_path
    with _connection(probe, min(HEALTH_TIMEOUT_S, _remaining_s(probe, clock))) as connection:
        try:
            connection.request("GET", path, headers=_headers(probe.endpoint))
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None


def _settle(probe: Probe, clock: Clock) -> None:
    latencies_s: list[float] = []
    seen = ""
    while len(latencies_s) < MAX_TOKEN_PROBES and not _is_settled(latencies_s):
        try:
            latencies_s.append(_time_token(probe, clock))
        except _BusyError as error:
            probe.watch()
            if _health_status(probe, clock) == http.client.SERVICE_UNAVAILABLE:
                # What takes requests may die alone, behind a server that goes on.
                raise NotReadyError(f"the engine was healthy and is no more; seen: {error}") from error
            if _remaining_s(probe, clock) <= 0:
                # The deadline cuts the last try short, so the one before says more.
                _late(probe, "generate a token", f"; last seen: {seen or error}")
            seen = str(error)
            time.sleep(RETRY_S)


def _is_settled(latencies_s: list[float]) -> bool:
    last = latencies_s[-2:]
    return len(last) > 1 and max(last) <= SETTLED_RATIO * min(last)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    key = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    return {"Content-Type": "application/json", **key}


def _body(probe: Probe) -> bytes:
    return encode_request(PROMPT, probe.endpoint.model, dialect=probe.dialect, max_tokens=PROBE_TOKENS)


def _time_token(probe: Probe, clock: Clock) -> float:
    """Send one small streamed request and return seconds from sending it to its first non-empty text."""
    path = urlsplit(probe.endpoint.base_url).path + probe.dialect.path
    with _connection(probe, _remaining_s(probe, clock)) as connection:
        sent_ns = clock.now_ns()
        try:
            connection.request("POST", path, _body(probe), _headers(probe.endpoint))
            response = connection.getresponse()
            _check_status(response, probe)
            first_ns = _read_stream(response, probe, clock)
        except (OSError, http.client.HTTPException) as error:
            raise _BusyError(f"{type(error).__name__}: {error}") from error
    if first_ns is None:
        raise _BusyError("a stream without any text")
    return (first_ns - sent_ns) / NS_PER_S


def _check_status(response: http.client.HTTPResponse, probe: Probe) -> None:
    status = response.status
    if status == http.client.OK:
        return
    excerpt = response.read(EXCERPT_CHARS).decode("utf-8", errors="replace")
    seen = f"POST {probe.dialect.path} answered {status}: {excerpt}"
    if status >= http.client.INTERNAL_SERVER_ERROR or status == http.client.TOO_MANY_REQUESTS:
        raise _BusyError(seen)
    raise NotReadyError(f"expected a generated token, seen: {seen}")


def _read_stream(response: http.client.HTTPResponse, probe: Probe, clock: Clock) -> int | None:
    scanner = probe.dialect.scanner()
    for line in response:
        if _remaining_s(probe, clock) <= 0:
            raise TimeoutError("the stream did not end in time")
        scanner.feed(line, clock.now_ns())
        if scanner.error is not None:
            raise _BusyError(f"an error inside the stream: {scanner.error[:EXCERPT_CHARS]}")
        if scanner.done_ns is not None:
            break
    return scanner.chunk_ns[0] if scanner.chunk_ns else None
