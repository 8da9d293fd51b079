"""From a model's name to weights on disk: known models, local paths, the hub and object stores."""

import difflib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import ModelRef
from orchestrator.domain.errors import InputError
from orchestrator.models.describing import TOKENIZER_FILE, describe
from orchestrator.models.hub import PREFIX, fetch_from_hub
from orchestrator.models.known import KNOWN, NO_WEIGHTS, KnownModel
from orchestrator.models.object_store import fetch_from_store
from orchestrator.models.shelf import Artefact, Shelf
from orchestrator.models.smollm2 import TOKENIZER


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model's weights on disk, one reference for each variant that was asked for."""

    name: str
    folder: Path
    variants: tuple[ModelRef, ...]


def cache_folder() -> Path:
    """Return where weights are kept: SEATRIAL_CACHE, else `seatrial` in the user's cache folder."""
    chosen = os.environ.get("SEATRIAL_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seatrial"


def fetch(name: str, *, variants: Sequence[str] | None = None, cache: Path | None = None) -> FetchedModel:
    """Fetch a model and make its variants, all of them or those asked for; what is there and intact is kept.

    Every byte of what is there is checked again. Names: a known model, or `hf://organisation/name`.

    Raises:
        InputError: unknown name or variant, no way to the weights, or no place to keep them.
    """
    folder = cache or cache_folder()
    if name.startswith(PREFIX):
        path = fetch_from_hub(name)
        return FetchedModel(name, path, (describe(name, path, memory=folder, source=name),))
    return fetch_known(_known(name), variants=variants, cache=folder, is_thorough=True)


def resolve(
    name: str, variant: str, *, path: Path | None = None, uri: str | None = None, cache: Path | None = None
) -> ModelRef:
    """Return the reference of one variant, made first where it is not there yet; `none` is for engines without weights.

    With `path`, a local GGUF file or Hugging Face folder is described instead, its variant being what it is; with
    `uri`, such a file or folder is copied into the cache first.

    Raises:
        InputError: unknown name or variant, or nothing usable at the path or address.
    """
    folder = cache or cache_folder()
    if path is not None:
        return describe(name, path, memory=folder)
    if uri is not None:
        stored = fetch_from_store(uri, cache=folder)
        return describe(name, stored.path, memory=folder, source=stored.source, hashes=stored.hashes)
    if name == NO_WEIGHTS.name:
        return NO_WEIGHTS
    if name.startswith(PREFIX):
        return fetch(name, cache=folder).variants[0]
    return fetch_known(_known(name), variants=(variant,), cache=folder).variants[0]


def fetch_known(
    known: KnownModel, *, cache: Path, variants: Sequence[str] | None = None, is_thorough: bool = False
) -> FetchedModel:
    """Make what is missing of a known model; `is_thorough` reads all there is instead of trusting times."""
    wanted = tuple(variants) if variants is not None else known.variants
    for variant in wanted:
        if variant not in known.variants:
            raise InputError(_unknown(f"variant of {known.name}", variant, known.variants))
    shelf = Shelf(cache / "models" / known.name, known.recipes, is_thorough=is_thorough)
    artefacts = shelf.obtain((*wanted, TOKENIZER))
    refs = tuple(_reference(known, shelf, variant, artefacts[variant]) for variant in wanted)
    return FetchedModel(known.name, shelf.folder, refs)


def _reference(known: KnownModel, shelf: Shelf, variant: str, artefact: Artefact) -> ModelRef:
    path = shelf.path_of(variant)
    return describe(
        known.name,
        path,
        memory=shelf.folder,
        tokenizer=None if path.is_dir() else shelf.path_of(TOKENIZER) / TOKENIZER_FILE,
        source=artefact.source,
        hashes={Path(file).name: fact.sha256 for file, fact in artefact.files.items()},
        checkpoint=known.checkpoint_digest,
    )


def _known(name: str) -> KnownModel:
    if name in KNOWN:
        return KNOWN[name]
    raise InputError(f"{_unknown('model', name, KNOWN)}; or hf://organisation/name, or a path to a folder or GGUF file")


def _unknown(kind: str, seen: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(seen, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind}: {seen!r}; known: {', '.join(known)}{hint}"
