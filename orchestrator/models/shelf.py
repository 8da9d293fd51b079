"""One model's folder in the cache: artefacts made from recipes, a manifest that says what each file's content is.

An artefact counts as there only once the manifest names it and its files still match; anything else is made anew.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.domain.errors import InputError
from orchestrator.models.atomic import PART, part_of, publish, remove, write_text
from orchestrator.models.hashing import FileFact, fact_of
from orchestrator.models.space import check_space

MANIFEST = "manifest.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an artefact is made: `make(target, sources)` writes a file or folder and returns a note on how it was made.

    `needs` names the artefacts that it reads, which `sources` holds by name. A higher `revision` makes anew what an
    older recipe made. `size_bytes` is what making it takes at most on disk, passing files included, if that is known.
    """

    file_name: str
    make: Callable[[Path, Mapping[str, Path]], str]
    needs: tuple[str, ...] = ()
    revision: int = 1
    size_bytes: int | None = None


class Artefact(BaseModel):
    """What the manifest says of one artefact: the steps that made it, its files by path within the model's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[str, ...]
    files: dict[str, FileFact]
    revision: int = 1

    @property
    def source(self) -> str:
        """Say where the weights come from and how they were converted."""
        return "; ".join(self.steps)


class Manifest(BaseModel):
    """Everything on one shelf."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = 1
    artefacts: dict[str, Artefact] = Field(default_factory=dict)


class Shelf:
    """One model's folder. `is_thorough` reads every byte again instead of trusting size and modification time."""

    def __init__(self, folder: Path, recipes: Mapping[str, Recipe], *, is_thorough: bool = False) -> None:
        self.folder = folder
        self._recipes = recipes
        self._is_thorough = is_thorough
        self._found: dict[str, Artefact] = {}

    def find(self, name: str) -> Artefact | None:
        """Return an artefact that is there and intact, None otherwise; writes nothing."""
        if name in self._found:
            return self._found[name]
        artefact = self._manifest().artefacts.get(name)
        if artefact is None or artefact.revision != self._recipes[name].revision:
            return None
        if not all(self._is_intact(path, fact) for path, fact in artefact.files.items()):
            return None
        self._found[name] = artefact
        return artefact

    def obtain(self, names: Sequence[str]) -> dict[str, Artefact]:
        """Return artefacts by name, those made now that are not there; a folder that holds them all is only read.

        Raises:
            InputError: the folder cannot be written or has too little space, or a recipe cannot be followed.
        """
        found = {name: artefact for name in names if (artefact := self.find(name)) is not None}
        if len(found) == len(set(names)):
            return found
        missing = self._missing(names)
        needed_bytes = sum(self._recipes[name].size_bytes or 0 for name in missing)
        with self._opened(needed_bytes, what=f"making {', '.join(sorted(missing))} of {self.folder.name}"):
            return {name: self._ensure(name) for name in names}

    def path_of(self, name: str) -> Path:
        """Return where an artefact lies, there or not."""
        return self.folder / self._recipes[name].file_name

    @contextlib.contextmanager
    def _opened(self, needed_bytes: int, *, what: str) -> Iterator[None]:
        """Hold the folder for making things: one maker at a time, leftovers of a dead one removed."""
        try:
            check_space(self.folder, needed_bytes, what=what, place_key="SEATRIAL_CACHE")
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock"):
                for leftover in self.folder.glob(f"{PART}*"):
                    remove(leftover)
                yield
        except OSError as error:
            raise InputError(
                f"cannot keep models in {self.folder}: {error}; free some space there or name another folder "
                "with SEATRIAL_CACHE"
            ) from error

    def _ensure(self, name: str) -> Artefact:
        found = self.find(name)
        if found is not None:
            return found
        recipe = self._recipes[name]
        steps = [step for need in recipe.needs for step in self._ensure(need).steps]
        logger.info("making %s in %s", recipe.file_name, self.folder)
        target = self.path_of(name)
        part = part_of(target)
        note = recipe.make(part, {need: self.path_of(need) for need in recipe.needs})
        publish(part, target)
        artefact = Artefact(
            steps=tuple(dict.fromkeys([*steps, note])), files=self._facts(target), revision=recipe.revision
        )
        self._record(name, artefact)
        return artefact

    def _missing(self, names: Sequence[str]) -> set[str]:
        missing: set[str] = set()
        for name in names:
            if self.find(name) is None:
                missing |= {name, *self._missing(self._recipes[name].needs)}
        return missing

    def _is_intact(self, path: str, fact: FileFact) -> bool:
        file = self.folder / path
        if not file.is_file():
            return False
        if fact.is_fresh(file) and not self._is_thorough:
            return True
        if fact_of(file).sha256 == fact.sha256:
            return True
        logger.warning("%s has changed since it was made and is made anew", file)
        return False

    def _facts(self, target: Path) -> dict[str, FileFact]:
        files = sorted(one for one in target.rglob("*") if one.is_file()) if target.is_dir() else [target]
        return {str(one.relative_to(self.folder)): fact_of(one) for one in files}

    def _record(self, name: str, artefact: Artefact) -> None:
        manifest = self._manifest()
        updated = manifest.model_copy(update={"artefacts": {**manifest.artefacts, name: artefact}})
        write_text(self.folder / MANIFEST, updated.model_dump_json(indent=1))
        self._found[name] = artefact

    def _manifest(self) -> Manifest:
        try:
            return Manifest.model_validate_json((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return Manifest()
        except ValidationError:
            logger.warning("%s is unreadable; what it named is made anew", self.folder / MANIFEST)
            return Manifest()
