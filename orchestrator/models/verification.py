"""What is proved of copied weights: sizes always, content by a checksum beside them or an ETag that is their MD5.

A checksum that lies beside the weights proves that the copy is what was put there, not who put it there.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.errors import InputError
from orchestrator.models.hashing import FileFact, fact_of
from orchestrator.models.remote import Listing

MD5 = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Verified:
    """The copied files' facts by name, and in words what is proved of them."""

    facts: dict[str, FileFact]
    proof: str


def verify(files: Mapping[str, Path], listing: Listing, sums: Mapping[str, Mapping[str, str]], *, uri: str) -> Verified:
    """Check each copied file; `sums` holds sha256 by name for each file of checksums.

    Raises:
        InputError: a file has another size than was listed, or another sha256 than stands beside it.
    """
    facts: dict[str, FileFact] = {}
    proofs: dict[str, list[str]] = {}
    for name, file in files.items():
        listed = listing.files[name]
        seen_bytes = file.stat().st_size
        if seen_bytes != listed.size_bytes:
            raise InputError(f"{uri}: {name} has {seen_bytes} bytes, listed were {listed.size_bytes}; nothing was kept")
        facts[name] = fact_of(file)
        proofs.setdefault(_proof(file, name, facts[name], sums, listed.etag, uri), []).append(name)
    return Verified(facts, "; ".join(f"{proof}: {_count(names)}" for proof, names in sorted(proofs.items())))


def _proof(
    file: Path, name: str, fact: FileFact, sums: Mapping[str, Mapping[str, str]], etag: str | None, uri: str
) -> str:
    """Say what is proved of a file. An ETag that differs proves nothing: an encrypted object's is no MD5."""
    stated = {beside: hashes[name] for beside, hashes in sums.items() if name in hashes}
    for beside, sha256 in stated.items():
        if sha256 != fact.sha256:
            raise InputError(
                f"{uri}: {name} has sha256 {fact.sha256}, {beside} beside it says {sha256}; nothing was kept: "
                "put the right file there, or the right checksum"
            )
    if stated:
        return f"size as listed, sha256 as in {' and '.join(stated)} beside the weights"
    if etag is not None and MD5.fullmatch(etag) and _md5_of(file) == etag:
        return "size as listed, MD5 equal to the store's ETag"
    return "size as listed, content not proved"


def _md5_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _count(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} files"
