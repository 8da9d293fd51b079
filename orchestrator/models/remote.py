"""Weights where they lie: which files a store lists, how they are copied from there. Writes nothing but the copies."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import fsspec
from pydantic import BaseModel, ConfigDict

from orchestrator.domain.errors import InputError
from orchestrator.models.checksums import READERS
from orchestrator.models.hub import FILES
from workloads.digest import digest

SAFETENSORS, BIN = "*.safetensors", "*.bin"
ETAGS = ("ETag", "etag")
TIMES = ("LastModified", "Last-Modified", "last_modified", "mtime", "updated", "created")


class RemoteFile(BaseModel):
    """One file as the store lists it; `etag` and `modified` are None where it does not tell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    size_bytes: int
    etag: str | None
    modified: str | None


class Listing(BaseModel):
    """Every file of the weights by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: dict[str, RemoteFile]

    @property
    def size_bytes(self) -> int:
        """Sum up the sizes."""
        return sum(one.size_bytes for one in self.files.values())

    def digest(self, uri: str) -> str:
        """Digest one state of what lies at an address."""
        return digest({"uri": uri, **self.model_dump(mode="json")})


@dataclass(frozen=True, slots=True)
class RemoteWeights:
    """A folder of weights, or one .gguf file, in a file system of fsspec."""

    uri: str
    base: str
    is_file: bool
    store: Any

    @classmethod
    def open(cls, uri: str) -> "RemoteWeights":
        """Connect to the store; its own client looks for credentials where it always does.

        Raises:
            ValueError: the protocol is unknown.
            ImportError: the protocol's package is missing.
        """
        store, base = fsspec.core.url_to_fs(uri, use_listings_cache=False, skip_instance_cache=True)
        return cls(uri, base.rstrip("/"), uri.endswith(".gguf"), store)

    @property
    def name(self) -> str:
        """Name the file or folder that holds the copy."""
        return self.base.rpartition("/")[2].strip(".") or "weights"

    def read_listing(self) -> Listing:
        """List what makes up the weights, by one question to the store.

        Raises:
            InputError: there are no weights, or the store does not tell a size.
        """
        if self.is_file:
            return Listing(files={self.name: self._described(self.base, self.store.info(self.base))})
        found = self.store.find(self.base, maxdepth=1, detail=True)
        by_name = {address.rpartition("/")[2]: (address, info) for address, info in found.items()}
        return Listing(files={name: self._described(*by_name[name]) for name in self._wanted(sorted(by_name))})

    def copy(self, listing: Listing, files: Mapping[str, Path]) -> None:
        """Copy every file to its place; several at a time where the store's client can."""
        self.store.get([one.address for one in listing.files.values()], [str(files[name]) for name in listing.files])

    def place_of(self, name: str, target: Path) -> Path:
        """Return where a file lies in a copy: the copy itself where it is one file."""
        return target if self.is_file else target / name

    def sums(self) -> dict[str, dict[str, str]]:
        """Read the checksums that lie beside the weights: sha256 by name, for each file that holds some."""
        folder = self.base.rpartition("/")[0] if self.is_file else self.base
        texts = {name: f"{folder}/{name}" for name in READERS}
        return {
            name: READERS[name](self.store.cat_file(address).decode(errors="replace"))
            for name, address in texts.items()
            if self.store.exists(address)
        }

    def _described(self, address: str, info: Mapping[str, Any]) -> RemoteFile:
        facts = info if info.get("size") is not None else self.store.info(address)
        if facts.get("size") is None:
            raise InputError(f"{self.uri}: the store does not tell the size of {address}, so no copy could be checked")
        etag = next((str(facts[key]).strip('"') for key in ETAGS if facts.get(key)), None)
        modified = next((str(facts[key]) for key in TIMES if facts.get(key)), None)
        return RemoteFile(address=address, size_bytes=facts["size"], etag=etag, modified=modified)

    def _wanted(self, names: list[str]) -> list[str]:
        weights = SAFETENSORS if any(fnmatch(name, SAFETENSORS) for name in names) else BIN
        wanted = [name for name in names if any(fnmatch(name, pattern) for pattern in (*FILES, weights))]
        if "config.json" in wanted and any(fnmatch(name, weights) for name in wanted):
            return wanted
        seen = ", ".join(names) or "nothing"
        raise InputError(
            f"{self.uri}: expected a folder with config.json and {SAFETENSORS} or {BIN}, seen {seen}; "
            "for a GGUF, give the address of the .gguf file itself"
        )
