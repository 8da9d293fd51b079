"""A store in an object store, through fsspec: one object a key; the service writes an object whole or not at all."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

from orchestrator.domain.errors import TrackingError
from orchestrator.tracking.redact import redact_text


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Objects below `base` of a file system; `root` is None, since nothing here has a local path."""

    url: str
    base: str
    files: Any
    root: None = None

    @classmethod
    def open(cls, url: str) -> "ObjectStore":
        """Connect to the service; credentials come from its own environment variables.

        Raises:
            TrackingError: the protocol is unknown or its package is missing.
        """
        try:
            files, base = fsspec.core.url_to_fs(url.rstrip("/"), use_listings_cache=False, skip_instance_cache=True)
        except (ValueError, ImportError) as error:
            raise TrackingError(
                f"store {redact_text(url)}: {error}; expected a path, file://, or a protocol with its fsspec package "
                f"(s3:// needs `pip install 'seatrial[s3]'`)"
            ) from error
        return cls(url.rstrip("/"), base.rstrip("/"), files)

    def put(self, key: str, data: bytes) -> None:
        """Write a value, replacing what was there."""
        with self._as_os_errors():
            self.files.pipe_file(self._path(key), data)

    def create(self, key: str, data: bytes) -> None:
        """Write a value that must not exist yet; S3 checks it by a conditional put.

        Raises:
            FileExistsError: somebody wrote it before.
        """
        try:
            with self._as_os_errors():
                self.files.pipe_file(self._path(key), data, mode="create")
        except FileExistsError:
            raise
        except OSError as error:
            if "PreconditionFailed" in f"{error!r}{error.__cause__!r}" or "pre-conditions" in str(error):
                raise FileExistsError(key) from error
            raise

    def get(self, key: str) -> bytes:
        """Read a value.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._as_os_errors():
            data: bytes = self.files.cat_file(self._path(key))
        return data

    def delete(self, key: str) -> None:
        """Remove a value; one that is not there is no error."""
        with self._as_os_errors():
            if self.files.exists(self._path(key)):
                self.files.rm_file(self._path(key))

    def list(self, prefix: str) -> tuple[str, ...]:
        """List all keys below a folder, sorted."""
        with self._as_os_errors():
            paths: list[str] = self.files.find(self._path(prefix))
        return tuple(sorted(path[len(self.base) :].lstrip("/") for path in paths))

    def put_tree(self, folder: Path, prefix: str) -> tuple[str, ...]:
        """Copy every file of a local folder below a key and return the keys."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return self.list(prefix)

    def uri(self, key: str) -> str:
        """Spell a key as an address below the store's own."""
        return f"{self.url}/{key}"

    @contextmanager
    def _as_os_errors(self) -> Iterator[None]:
        """Turn a lost connection into an OSError: some clients have an error tree of their own."""
        try:
            yield
        except OSError:
            raise
        except _connection_errors() as error:
            raise OSError(f"{type(error).__name__}: {error}") from error

    def _path(self, key: str) -> str:
        return f"{self.base}/{key}"


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return the root error of the S3 client where it is loaded; other clients raise OSErrors."""
    module = sys.modules.get("botocore.exceptions")
    return (module.BotoCoreError,) if module is not None else ()
