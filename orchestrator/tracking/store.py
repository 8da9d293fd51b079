"""Where studies live: a local folder or an object store, behind one small interface of keys and bytes.

Knows no journal and no study; keys are relative paths with forward slashes.
"""

from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.local_store import LocalStore
from orchestrator.tracking.object_store import ObjectStore
from orchestrator.tracking.redact import redact_text

DEFAULT_STORE = "mlruns"
MIN_FREE_BYTES = 64 * 2**20


class Store(Protocol):
    """Keys and bytes; a put is whole or absent, never half."""

    @property
    def url(self) -> str:
        """Return how the person named the store."""
        ...

    @property
    def root(self) -> Path | None:
        """Return the store's local folder; None where it is not local."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write a value, replacing what was there."""
        ...

    def create(self, key: str, data: bytes) -> None:
        """Write a value that must not exist yet.

        Raises:
            FileExistsError: somebody wrote it before.
        """
        ...

    def get(self, key: str) -> bytes:
        """Read a value.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove a value; one that is not there is no error."""
        ...

    def list(self, prefix: str) -> tuple[str, ...]:
        """List all keys below a folder, sorted."""
        ...

    def put_tree(self, folder: Path, prefix: str) -> tuple[str, ...]:
        """Copy every file of a local folder below a key and return the keys; files that lie there already stay."""
        ...

    def uri(self, key: str) -> str:
        """Spell a key as an address that other tools understand."""
        ...


def open_store(url: str = DEFAULT_STORE, *, min_free_bytes: int = MIN_FREE_BYTES) -> Store:
    """Open a store and prove that it can be written: a bare path, `file://`, or anything fsspec knows (`s3://bucket/x`).

    Raises:
        TrackingError: it cannot be written, is full, or its protocol is unknown; nothing was started.
    """
    store = _connect(url, min_free_bytes)
    _prove_writable(store)
    return store


def _connect(url: str, min_free_bytes: int) -> Store:
    parts = urlsplit(url)
    if "://" not in url:
        return LocalStore.open(Path(url), min_free_bytes=min_free_bytes)
    if parts.scheme == "file":
        return LocalStore.open(Path(parts.path), min_free_bytes=min_free_bytes)
    return ObjectStore.open(url)


def _prove_writable(store: Store) -> None:
    key = f".probe-{uuid4().hex}"
    try:
        store.put(key, b"seatrial")
        seen = store.get(key)
        store.delete(key)
    except OSError as error:
        raise TrackingError(
            f"store {redact_text(store.url)} cannot be written: {error}; give another with --store"
        ) from error
    if seen != b"seatrial":
        raise TrackingError(f"store {redact_text(store.url)} does not return what was written to it; give another")
