"""`seatrial replay` and proxies: none unless asked for, and then for every word that is said to the server."""

import base64
import json
from pathlib import Path

import pytest

from orchestrator.domain.records import ClientPath
from orchestrator.replay import read_records
from tests.command_line import seatrial
from tests.unit.replay.proxy_server import forwarding

SMALL = ("--input-tokens", "8", "--output-tokens", "4", "--rate", "20", "--requests", "5", "--no-metrics", "--json")
FAR = "http://engine.invalid:8000"
PAIR = base64.b64encode(b"ann:hush").decode()


@pytest.fixture(autouse=True)
def dead_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment names a proxy that takes no connection."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_environments_proxy_is_ignored_unless_it_is_asked_for(server: str) -> None:
    done = seatrial("replay", "--url", server, *SMALL)
    assert json.loads(done.stdout)["fidelity"]["path"] == ClientPath.DIRECT
    assert (
        "127.0.0.1:1 takes no connection"
        in seatrial("replay", "--url", server, *SMALL, "--proxy", "env", code=2).stderr
    )


def test_a_server_that_only_a_proxy_reaches_is_measured_through_it(
    server: str, tmp_path: Path, dead_proxies: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "requests.parquet"
    with forwarding(int(server.rpartition(":")[2]), authorization=f"Basic {PAIR}") as proxy:
        dead_proxies.setenv("http_proxy", proxy.url.replace("://", "://ann:hush@"))
        arguments = ("--proxy", "env", "--records", str(records))
        done = seatrial("replay", "--url", FAR, *SMALL, *arguments, code=None)  # sound or not on a busy machine
    one, log = json.loads(done.stdout), read_records(records)
    assert (one["num_issued"], one["num_completed"], one["fidelity"]["path"]) == (5, 5, ClientPath.PROXY)
    assert log.path is ClientPath.PROXY
    assert f"{FAR} by way of the proxy 127.0.0.1:{proxy.port}" in done.stderr
    asked = [head.split(b" ")[1].decode().removeprefix(FAR) for head in proxy.heads]
    assert {"/v1/models", "/tokenize", "/v1/completions"} <= set(asked)
    for secret in ("hush", PAIR):
        assert secret not in done.stdout + done.stderr
        assert secret.encode() not in records.read_bytes()


def test_a_proxys_refusal_and_another_kind_of_proxy_are_bad_input(server: str) -> None:
    with forwarding(int(server.rpartition(":")[2]), authorization=f"Basic {PAIR}") as proxy:
        wrong = proxy.url.replace("://", "://ann:guess@")
        done = seatrial("replay", "--url", FAR, *SMALL, "--proxy", wrong, code=2)
    assert "the proxy answered 407 Proxy Authentication Required" in done.stderr
    other = seatrial("replay", "--url", FAR, *SMALL, "--proxy", "socks5://ann:guess@127.0.0.1:1080", code=2)
    assert "other kinds of proxy are not spoken to" in other.stderr
    assert "guess" not in done.stderr + other.stderr
