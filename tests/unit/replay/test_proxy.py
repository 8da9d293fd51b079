"""A proxy's address, the environment's proxies, and what opens a tunnel."""

import base64

import pytest

from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.records import ClientPath
from orchestrator.replay.place import parse_place
from orchestrator.replay.proxy import MAX_HEAD_BYTES, Proxy, ProxyError, Tunnel, environment_proxy, parse_proxy
from orchestrator.replay.redaction import redact
from orchestrator.replay.target import parse_target

PROXY = "http://ann:hush%40home@proxy.invalid:3128"
PAIR = base64.b64encode(b"ann:hush@home").decode()


def test_user_and_password_go_into_a_header_and_into_no_text() -> None:
    proxy = parse_proxy(PROXY)
    assert proxy.header_lines == (f"Proxy-Authorization: Basic {PAIR}",)
    assert proxy.authority == "proxy.invalid:3128"
    shown = f"{proxy!r} {Endpoint('http://a', 'm', proxy=PROXY)!r}"
    assert "hush" not in shown
    assert PAIR not in shown


@pytest.mark.parametrize(
    "url",
    [
        "https://zoe:hush@proxy:1",
        "socks5://zoe:hush@proxy:1",
        "zoe:hush@proxy:1",
        "http://zoe:hush@proxy",
        "http://zoe:hush@proxy:port",
        "http://zoe:hush@proxy:99999",
        "http://zoe:hu/sh@proxy:1",
        "http://zoe:hush@proxy:1/path",
        "http://zoe:hush@proxy:1?a=b",
        "http://zoe:hush@[::1:1",
        "http://z%3Aoe:hush@proxy:1",
        "http://zoe:hush@:1",
        "",
    ],
)
def test_anything_but_plain_http_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match="proxy") as caught:
        parse_target(Endpoint("http://127.0.0.1:1", "m", proxy=url), Dialect())
    assert "hu" not in str(caught.value)
    assert "oe" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_request_for_http_names_the_whole_address() -> None:
    target = parse_target(Endpoint("http://[::1]:8000/x", "m", key="k", proxy=PROXY), Dialect())
    lines = target.head("1", 0).decode().split("\r\n")
    assert target.client_path is ClientPath.PROXY
    assert lines[:2] == ["POST http://[::1]:8000/x/v1/completions HTTP/1.1", "Host: [::1]:8000"]
    assert f"Proxy-Authorization: Basic {PAIR}" in lines


def test_in_a_tunnel_the_server_never_sees_the_proxys_password() -> None:
    target = parse_target(Endpoint("https://engine.invalid", "m", proxy=PROXY), Dialect())
    head = target.head("1", 0).decode()
    assert head.startswith("POST /v1/completions HTTP/1.1\r\nHost: engine.invalid:443\r\n")
    assert (target.client_path, target.server_name) == (ClientPath.PROXY, "engine.invalid")
    assert "Proxy-Authorization" not in head
    assert target.proxy is not None
    said = Tunnel(target.proxy, target.host, target.port).request.decode().split("\r\n")
    assert said[:2] == ["CONNECT engine.invalid:443 HTTP/1.1", "Host: engine.invalid:443"]
    assert said[2:] == [f"Proxy-Authorization: Basic {PAIR}", "", ""]


@pytest.mark.parametrize("url", ["unix:///run/engine.sock", "http+unix://%2Frun%2Fengine.sock"])
def test_no_proxy_leads_to_a_unix_socket(url: str) -> None:
    with pytest.raises(InputError, match="Unix socket"):
        parse_target(Endpoint(url, "m", proxy=PROXY), Dialect())
    with pytest.raises(InputError, match="Unix socket"):
        parse_place(url, PROXY)


def test_a_tunnel_opens_wherever_the_answer_is_cut() -> None:
    answer = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"
    for at in range(1, len(answer)):
        tunnel = Tunnel(Proxy("p", 1), "h", 2)
        tunnel.take(answer[:at])
        assert not tunnel.is_open
        tunnel.take(answer[at:])
        assert tunnel.is_open


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\nX: y\r\n\r\nbody",
            "answered 407 Proxy Authentication Required$",
        ),
        (b"HTTP/1.0 503 \x1b[31mno\r\n\r\n", r"answered 503 \?\[31mno$"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "something else than HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * MAX_HEAD_BYTES, "no end"),
        (b"HTTP/1.1 200 OK\r\n\r\n\x16\x03", "2 bytes ahead"),
        (b"", "closed the connection"),
    ],
)
def test_whatever_is_no_tunnel_is_said(answer: bytes, said: str) -> None:
    tunnel = Tunnel(Proxy("p", 1), "h", 2)
    with pytest.raises(ProxyError, match=said):
        tunnel.take(answer)
    assert not tunnel.is_open


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_environment_names_a_proxy_for_each_scheme(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "one:3128")
    environment.setenv("HTTPS_PROXY", "http://two:3128/")
    assert environment_proxy("http://engine.invalid:8000") == "http://one:3128"
    assert environment_proxy("https://engine.invalid") == "http://two:3128/"
    assert environment_proxy("unix:///run/engine.sock") is None


def test_the_environment_names_hosts_that_are_reached_straight(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "http://one:3128")
    environment.setenv("NO_PROXY", "localhost,.lan")
    found = [environment_proxy(f"http://{host}") for host in ("localhost:8000", "a.lan", "lan.example")]
    assert found == [None, None, "http://one:3128"]


def test_an_environment_that_names_none_means_none(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "")
    assert environment_proxy("http://engine.invalid") is None
    assert environment_proxy("http://[::1") is None


def test_passwords_are_hidden_in_addresses_and_in_headers() -> None:
    text = (
        f'via http://ann:hu/sh@proxy:1 {{"proxy-authorization": "Basic {PAIR}"}}; Basic authentication, Basic realm="x"'
    )
    assert redact(text, None) == (
        'via http://***@proxy:1 {"proxy-authorization": "Basic ***"}; Basic authentication, Basic realm="x"'
    )


def test_a_servers_address_with_a_password_is_refused_without_it() -> None:
    for parse in (parse_place, lambda url: parse_target(Endpoint(url, "m"), Dialect())):
        with pytest.raises(InputError, match=r"http://\*\*\*@host:1: user and password") as caught:
            parse("http://ann:hush@host:1")
        assert "hush" not in str(caught.value)
