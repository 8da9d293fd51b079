"""Keeps API keys, and the passwords of proxies, out of whatever is shown or recorded."""

import base64
import re

from orchestrator.domain.errors import InputError

HIDDEN = "***"
BEARER = re.compile(r"(?i)bearer\s+[^\s\"']+")
BASIC = re.compile(r"(?i)\bbasic\s+([a-z0-9+/]{2,}={0,2})")
IN_ADDRESS = re.compile(r"(://)[^\s\"']*@")


def redact(text: str, key: str | None) -> str:
    """Hide the key, and whatever else stands where a key, or user and password, stand."""
    hidden = text.replace(key, HIDDEN) if key else text
    hidden = BEARER.sub(f"Bearer {HIDDEN}", hidden)
    hidden = BASIC.sub(lambda found: f"Basic {HIDDEN}" if _is_a_pair(found[1]) else found[0], hidden)
    return IN_ADDRESS.sub(rf"\1{HIDDEN}@", hidden)


def refuse_credentials(base_url: str) -> None:
    """Return when a server's address holds no user and password.

    Raises:
        InputError: it does; they would be shown with it, and are never sent.
    """
    if base_url.startswith(("http://", "https://")) and "@" in base_url:
        raise InputError(
            f"{redact(base_url, None)}: user and password in a server's address are not sent; "
            "leave them out, and give a key by its environment variable"
        )


def _is_a_pair(text: str) -> bool:
    """Say whether a word is user and password in base64; `Basic authentication` is none."""
    try:
        return b":" in base64.b64decode(text, validate=True)
    except ValueError:
        return False
