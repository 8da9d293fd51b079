"""Keeps API keys out of whatever is shown or recorded."""

import re

BEARER = re.compile(r"(?i)bearer\s+[^\s\"']+")


def redact(text: str, key: str | None) -> str:
    """Hide the key, and whatever else stands where a key stands."""
    hidden = text.replace(key, "***") if key else text
    return BEARER.sub("Bearer ***", hidden)
