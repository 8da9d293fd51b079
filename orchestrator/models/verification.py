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
NAMED = 4


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
        _check_size(file, listing.files[name].size_bytes, what=f"{uri}: {name}")
        facts[name] = fact_of(file)
        stated = {beside: hashes[name] for beside, hashes in sums.items() if name in hashes}
        _check_sums(facts[name].sha256, stated, what=f"{uri}: {name}")
        proofs.setdefault(_content_proof(file, stated, listing.files[name].etag), []).append(name)
    return Verified(facts, "; ".join(f"{_named(names)}: size as listed, {proof}" for proof, names in proofs.items()))


def _check_size(file: Path, listed_bytes: int, *, what: str) -> None:
    seen_bytes = file.stat().st_size
    if seen_bytes != listed_bytes:
        raise InputError(f"{what} has {seen_bytes} bytes, listed were {listed_bytes}; nothing was kept, fetch it again")


def _check_sums(seen: str, stated: Mapping[str, str], *, what: str) -> None:
    for beside, sha256 in stated.items():
        if sha256 != seen:
            raise InputError(
                f"{what} has sha256 {seen}, {beside} beside it says {sha256}; nothing was kept: "
                "put the right file there, or the right checksum"
            )


def _content_proof(file: Path, stated: Mapping[str, str], etag: str | None) -> str:
    """Say what is proved of the content. An ETag that differs disproves nothing: an encrypted object's is no MD5."""
    if stated:
        return f"sha256 as in {' and '.join(stated)} beside the weights"
    if etag is not None and MD5.fullmatch(etag) and _md5_of(file) == etag:
        return "MD5 equal to the store's ETag"
    return "content not proved"


def _md5_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _named(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else f"{len(names)} files from {names[0]} to {names[-1]}"
