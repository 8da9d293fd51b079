"""Content digests: one spelling of a value as JSON, one hash of it.

Equal values have equal digests in every process and on every machine.
"""

import hashlib
import json
from collections.abc import Mapping

DIGEST_CHARS = 16


def canonical_json(value: object) -> str:
    """Spell a JSON-like value one way only: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: the value holds a NaN or an infinity.
        TypeError: the value holds something JSON cannot spell.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def digest(value: Mapping[str, object]) -> str:
    """Digest a JSON-like mapping as the first 16 hexadecimal characters of its SHA-256."""
    return digest_bytes(canonical_json(value).encode())


def digest_bytes(*parts: bytes) -> str:
    """Digest byte strings, each framed by its length so that their borders count."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.hexdigest()[:DIGEST_CHARS]
