"""Which proxy `seatrial replay` takes: what is typed, or the environment's where that is asked for."""

import pytest

from orchestrator.cli.replay_plan import chosen_proxy

URL = "http://engine.invalid:8000"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTP_PROXY", "no_proxy", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://ann:hush@one:3128")
    return monkeypatch


def test_without_being_asked_for_the_environment_is_ignored() -> None:
    assert chosen_proxy(None, URL) is None
    assert chosen_proxy("http://two:3128", URL) == "http://two:3128"


def test_asked_for_it_is_the_environments() -> None:
    assert chosen_proxy("env", URL) == "http://ann:hush@one:3128"


def test_an_environment_that_names_none_is_said(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("no_proxy", "engine.invalid")
    assert chosen_proxy("env", URL) is None
    assert "requests go straight" in capsys.readouterr().err
