"""Whose a request is, without saying who: names and texts as hashes keyed by a salt."""

import hashlib
from typing import Literal

import polars as pl

Kind = Literal["session", "client", "block"]
HASH_BYTES = 8
MAX_KEY_BYTES = 64


def keyed_hash(data: bytes, *, salt: bytes, kind: Kind, num_bytes: int = HASH_BYTES) -> bytes:
    """Hash bytes with BLAKE2b keyed by the salt; the same bytes have different hashes as different kinds of thing."""
    key = salt if len(salt) <= MAX_KEY_BYTES else hashlib.blake2b(salt).digest()
    return hashlib.blake2b(data, digest_size=num_bytes, key=key, person=kind.encode()).digest()


def hash_identities(names: pl.Series, kind: Kind, *, salt: bytes) -> pl.Series:
    """Turn names of sessions or clients into uint64 hashes; missing and empty ones stay null.

    Each distinct name is hashed once.
    """
    texts = names.cast(pl.String)
    distinct = texts.unique().drop_nulls()
    distinct = distinct.filter(distinct != "")
    hashes = [int.from_bytes(keyed_hash(name.encode(), salt=salt, kind=kind), "little") for name in distinct]
    hashed = pl.Series(hashes, dtype=pl.UInt64)
    return texts.replace_strict(distinct, hashed, default=None, return_dtype=pl.UInt64)
