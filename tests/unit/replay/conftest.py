"""What holds for every test of the replay."""

import pytest


@pytest.fixture(autouse=True)
def no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any use of a proxy would fail at once: this one does not exist."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
