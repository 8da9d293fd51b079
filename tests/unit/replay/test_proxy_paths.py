"""Requests and questions by way of a real forward proxy; the environment names one that does not exist."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ClientPath, ReplayLog, RequestFailure
from orchestrator.replay import Timing, replay_open, served_models
from tests.unit.replay import test_tls
from tests.unit.replay.proxy_server import ForwardProxy, forwarding
from tests.unit.replay.scripted_server import Call, Server, answer, prepared, serving

certificate = test_tls.certificate

PAIR = "Basic " + base64.b64encode(b"ann:hush").decode()


def with_password(proxy: ForwardProxy, password: str = "hush") -> str:  # noqa: S107 - of a proxy that ends with the test
    return proxy.url.replace("://", f"://ann:{password}@")


def run(url: str, proxy: str | None, timeout_s: float = 5) -> ReplayLog:
    endpoint = Endpoint(url, "m", key="s3cret-key", proxy=proxy)
    return replay_open(prepared(3), endpoint, load=OpenLoad(rate_rps=10), timing=Timing(0, 0.05, 5, timeout_s))


def verdicts(log: ReplayLog) -> set[tuple[RequestFailure | None, int]]:
    return {(one.failure, one.output_tokens_client) for one in log.records}


@contextmanager
def tls_serving(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(answer, ssl=context) as server:
        yield server


async def models(call: Call) -> bool:
    body = b'{"data": [{"id": "m"}]}'
    call.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    return False


def test_http_goes_through_by_name_and_says_so() -> None:
    with serving(answer) as server, forwarding(server.port, authorization=PAIR) as proxy:
        log = run("http://engine.invalid:8000", with_password(proxy))
    assert (log.path, verdicts(log)) == (ClientPath.PROXY, {(None, 2)})
    assert {head.split(b" ")[1] for head in proxy.heads} == {b"http://engine.invalid:8000/v1/completions"}
    assert all(b"Proxy-Authorization" not in call.head for call in server.calls)


def test_connections_to_a_proxy_are_kept() -> None:
    with serving(answer) as server, forwarding(server.port) as proxy:
        endpoint = Endpoint("http://engine.invalid:8000", "m", proxy=proxy.url)
        requests = prepared(5, gap_s=0.02)
        log = replay_open(requests, endpoint, load=OpenLoad(rate_rps=50), timing=Timing(0, 0.2, 5, 5))
    assert verdicts(log) == {(None, 2)}
    assert server.connections < len(server.calls) == 5


def test_the_environments_proxy_is_ignored() -> None:
    with serving(answer) as server:
        log = run(f"http://127.0.0.1:{server.port}", None)
    assert (log.path, verdicts(log)) == (ClientPath.DIRECT, {(None, 2)})


def test_a_proxy_that_wants_another_password_is_no_success() -> None:
    with serving(answer) as server, forwarding(server.port, authorization=PAIR) as proxy:
        log = run("http://engine.invalid", with_password(proxy, "wrong"))
        with pytest.raises(InputError, match="the proxy answered 407 Proxy Authentication Required") as caught:
            served_models("http://engine.invalid", proxy=with_password(proxy, "wrong"))
    assert {(one.failure, one.http_status) for one in log.records} == {(RequestFailure.HTTP_STATUS, 407)}
    assert not server.calls
    assert "wrong" not in str(caught.value)


def test_tls_is_spoken_through_a_tunnel(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with tls_serving(certificate) as server, forwarding(server.port, authorization=PAIR) as proxy:
        log = run("https://127.0.0.1:9", with_password(proxy))
    assert (log.path, verdicts(log)) == (ClientPath.PROXY, {(None, 2)})
    assert {head.split(b"\r\n")[0] for head in proxy.heads} == {b"CONNECT 127.0.0.1:9 HTTP/1.1"}
    assert all(call.head.startswith(b"POST /v1/completions HTTP/1.1\r\n") for call in server.calls)
    assert all(b"Proxy-Authorization" not in call.head for call in server.calls)
    assert proxy.tunnelled.startswith(b"\x16\x03")
    assert b"s3cret-key" not in proxy.tunnelled


def test_a_certificate_is_checked_inside_the_tunnel(certificate: Path) -> None:
    with tls_serving(certificate) as server, forwarding(server.port) as proxy:
        log = run("https://127.0.0.1:9", proxy.url)
        with pytest.raises(InputError, match="CERTIFICATE_VERIFY_FAILED"):
            served_models("https://127.0.0.1:9", proxy=proxy.url)
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert "CERTIFICATE_VERIFY_FAILED" in (log.records[0].failure_detail or "")
    assert proxy.tunnelled.startswith(b"\x16\x03")
    assert not server.calls


def test_a_tunnel_that_is_refused_is_no_connection(certificate: Path) -> None:
    with tls_serving(certificate) as server, forwarding(server.port, authorization=PAIR) as proxy:
        log = run("https://127.0.0.1:9", proxy.url)
        with pytest.raises(InputError, match="the proxy answered 407 Proxy Authentication Required"):
            served_models("https://127.0.0.1:9", proxy=with_password(proxy, "wrong"))
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert {one.failure_detail for one in log.records} == {
        "could not connect: the proxy answered 407 Proxy Authentication Required"
    }


def test_a_proxy_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.replay.dialing.TUNNEL_TIMEOUT_S", 0.05)
    monkeypatch.setattr("orchestrator.replay.place.TUNNEL_TIMEOUT_S", 0.05)
    with forwarding(1, is_silent=True) as proxy:
        log = run("https://127.0.0.1:9", proxy.url)
        with pytest.raises(InputError, match="did not answer CONNECT within"):
            served_models("https://127.0.0.1:9", proxy=proxy.url)
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert "did not answer CONNECT within" in (log.records[0].failure_detail or "")


def test_questions_go_the_same_way(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(models) as server, forwarding(server.port, authorization=PAIR) as proxy:
        assert served_models("http://engine.invalid/x", "k", proxy=with_password(proxy)) == ["m"]
    assert proxy.heads[0].startswith(b"GET http://engine.invalid:80/x/v1/models HTTP/1.1\r\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(models, ssl=context) as server, forwarding(server.port, authorization=PAIR) as proxy:
        assert served_models("https://127.0.0.1:9", "k", proxy=with_password(proxy)) == ["m"]
    assert server.calls[0].head.startswith(b"GET /v1/models HTTP/1.1\r\n")
    assert b"Proxy-Authorization" not in server.calls[0].head


def test_nobody_at_the_proxys_address_is_said() -> None:
    with pytest.raises(InputError, match=r"the proxy 127\.0\.0\.1:1 takes no connection") as caught:
        served_models("http://engine.invalid", proxy="http://ann:hush@127.0.0.1:1")
    assert "hush" not in str(caught.value)
    log = run("http://engine.invalid", "http://ann:hush@127.0.0.1:1")
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert "the proxy 127.0.0.1:1 takes no connection" in (log.records[0].failure_detail or "")


def test_a_proxys_name_without_an_address_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"no address for the proxy 'proxy\.invalid'"):
        run("http://127.0.0.1:1", "http://ann:hush@proxy.invalid:3128")
