"""The end of an engine's log, fit to be shown: secrets are replaced before anybody sees it."""

import re
from collections.abc import Mapping
from pathlib import Path

TAIL_LINES = 40
TAIL_BYTES = 64 * 1024
HIDDEN = "[hidden]"
MIN_SECRET_CHARS = 6
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_BEARER = re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?bearer\s+)[^\s'\"]+")


def redact(text: str, env: Mapping[str, str]) -> str:
    """Hide bearer tokens and the values of variables whose names speak of keys, tokens, secrets or passwords.

    Values shorter than six characters stay: they are flags such as `true`, and hiding them would garble every line.
    """
    secrets = {value for name, value in env.items() if _SECRET_NAME.search(name) and len(value) >= MIN_SECRET_CHARS}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _BEARER.sub(rf"\g<1>{HIDDEN}", text)


def read_tail(path: Path, env: Mapping[str, str], *, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log, secrets hidden; an empty string where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return redact("\n".join(text.splitlines()[-lines:]), env)
