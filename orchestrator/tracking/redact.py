"""Keeps secrets out of records: values of keys that look like secrets, flags that carry one, passwords in addresses."""

import itertools
import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_ALWAYS = frozenset(
    {"secret", "secrets", "password", "passwd", "passphrase", "credential", "credentials", "authorization", "apikey"}
)
_PAIRS = frozenset({("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key")})
_VOCABULARY = frozenset({"eos", "bos", "pad", "unk", "stop", "per", "first", "last", "next"})

# No pattern begins with a repetition: on a long word that would take time in the square of its length.
_NAMES = r"secret|passw(?:or)?d|(?:api|access|private)[-_]?key|(?:auth|hf|session)[-_]token"
_IN_TEXT = re.compile(rf"(?i)((?:{_NAMES})[\w-]*[\"']?(?:\s*[=:]\s*|\s+)[\"']?)(?!\s)[^\s\"',;]+")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]+")
_IN_ADDRESS = re.compile(r"(://)[^/\s@]+@")


def looks_secret(key: str) -> bool:
    """Say whether a key names a secret: `api_key`, `HF_TOKEN`; not `output_tokens`, `eos_token` or `tokenizer`."""
    words = [word.lower() for word in _WORDS.findall(key)]
    if any(word in _ALWAYS for word in words) or any(pair in _PAIRS for pair in itertools.pairwise(words)):
        return True
    return bool(words) and words[-1] == "token" and not (len(words) > 1 and words[-2] in _VOCABULARY)


def redact(value: Any) -> Any:  # noqa: ANN401 - any JSON-like value
    """Replace secrets in a JSON-like value, at any depth; numbers, booleans and None stay."""
    match value:
        case Mapping():
            return {key: _redact_entry(str(key), one) for key, one in value.items()}
        case list() | tuple():
            return [redact(one) for one in value]
        case str():
            return redact_text(value)
        case _:
            return value


def redact_text(text: str) -> str:
    """Replace secrets inside running text: `--api-key VALUE`, `Bearer VALUE`, `scheme://user:password@`."""
    text = _IN_ADDRESS.sub(rf"\1{REDACTED}@", text)
    return _BEARER.sub(rf"\1{REDACTED}", _IN_TEXT.sub(rf"\1{REDACTED}", text))


def _redact_entry(key: str, value: Any) -> Any:  # noqa: ANN401 - any JSON-like value
    is_plain = value is None or isinstance(value, bool | int | float)
    return REDACTED if looks_secret(key) and not is_plain else redact(value)
