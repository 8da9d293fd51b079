"""Weights from an address that fsspec knows, copied into the cache once for each state that the store lists.

A copy is there whole or not at all. Credentials are the business of the service's client: none is read here.
"""

import contextlib
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.domain.address import objection_to
from orchestrator.domain.errors import InputError
from orchestrator.models.atomic import part_of, publish, remove, write_text
from orchestrator.models.hashing import FileFact, fact_of
from orchestrator.models.remote import Listing, RemoteWeights
from orchestrator.models.space import MB, check_space
from orchestrator.models.verification import verify

RECORD = "record.json"
CLIENT_ERRORS = (
    ("aiohttp", "ClientError"),
    ("azure.core.exceptions", "AzureError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("gcsfs.retry", "HttpError"),
)  # trees of their own, apart from OSError
SECRET_PARTS = re.compile(r"(?<=://)[^/\s@]+@|(?<=\?)[^\s'\")]+")  # of a signed redirect, a proxy, an endpoint

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """A copy in the cache: where it lies, what is proved of it, the sha256 of its files by name."""

    path: Path
    source: str
    hashes: Mapping[str, str]


class CopyRecord(BaseModel):
    """What was copied and what was proved of it, written after the copy is in its place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    listing: Listing
    files: dict[str, FileFact]
    proof: str


def fetch_from_store(uri: str, *, cache: Path) -> StoredWeights:
    """Copy a folder of weights or a .gguf file into the cache; what the store lists unchanged is not copied again.

    Raises:
        InputError: an address with credentials, a store that does not give it, content other than its checksum, or
            too little space; with what to do.
    """
    objection = objection_to(uri)
    if objection is not None:
        raise InputError(f"model.uri: {objection}")
    with _as_input_errors(uri):
        remote = RemoteWeights.open(uri)
        listing = remote.read_listing()
        target = cache / "objects" / f"{remote.name}-{listing.digest(uri)}" / remote.name
        record = _find(remote, target) or _copy(remote, listing, target)
    size = f"{len(record.files)} files, {listing.size_bytes / MB:,.1f} MB"
    source = f"{uri} ({size}, listed alike before and after the copy): {record.proof}"
    return StoredWeights(target, source, {name: fact.sha256 for name, fact in record.files.items()})


def _find(remote: RemoteWeights, target: Path) -> CopyRecord | None:
    """Return the record of a copy that is there and intact; writes nothing."""
    file = target.parent / RECORD
    try:
        record = CopyRecord.model_validate_json(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError:
        logger.warning("%s is unreadable; its weights are fetched anew", file)
        return None
    if all(_is_intact(remote.place_of(name, target), fact) for name, fact in record.files.items()):
        return record
    logger.warning("%s is not what was fetched and is fetched anew", target)
    return None


def _is_intact(file: Path, fact: FileFact) -> bool:
    return file.is_file() and (fact.is_fresh(file) or fact_of(file).sha256 == fact.sha256)


def _copy(remote: RemoteWeights, listing: Listing, target: Path) -> CopyRecord:
    """Copy, verify, publish, record, in this order: whatever ends it on the way leaves nothing that counts."""
    place, part = target.parent, part_of(target)
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / ".lock"):
        remove(part)
        found = _find(remote, target)  # another maker may have been quicker
        if found is not None:
            return found
        check_space(place, listing.size_bytes, what=f"fetching {remote.uri}", place_key="SEATRIAL_CACHE")
        logger.info("fetching %s into %s", remote.uri, place)
        try:
            record = _verified_copy(remote, listing, part)
            publish(part, target)
        finally:
            remove(part)
        write_text(place / RECORD, record.model_dump_json(indent=1))
    return record


def _verified_copy(remote: RemoteWeights, listing: Listing, part: Path) -> CopyRecord:
    if not remote.is_file:
        part.mkdir()
    files = {name: remote.place_of(name, part) for name in listing.files}
    remote.copy(listing, files)
    verified = verify(files, listing, remote.sums(), uri=remote.uri)
    if remote.read_listing() != listing:
        raise InputError(f"{remote.uri}: changed while it was fetched; nothing was kept, fetch it again")
    return CopyRecord(uri=remote.uri, listing=listing, files=verified.facts, proof=verified.proof)


@contextlib.contextmanager
def _as_input_errors(uri: str) -> Iterator[None]:
    try:
        yield
    except _store_errors() as error:
        reason = SECRET_PARTS.sub("[hidden]", (str(error).strip() or "no reason given").splitlines()[0])
        raise InputError(
            f"{uri}: not fetched ({type(error).__name__}: {reason}); check the address, the network of this node, "
            "the credentials in its environment and the space in SEATRIAL_CACHE; a protocol may need its fsspec "
            "package (s3:// needs `pip install 'seatrial[s3]'`)"
        ) from error


def _store_errors() -> tuple[type[Exception], ...]:
    """Return what a store may raise: errors of fsspec, and the root errors of the clients that are loaded."""
    loaded = ((sys.modules.get(module), name) for module, name in CLIENT_ERRORS)
    return (OSError, ImportError, ValueError, *(getattr(module, name) for module, name in loaded if module is not None))
