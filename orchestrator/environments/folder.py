"""The folder of installed environments and the stamp that says one is whole. An unstamped one counts as absent."""

import os
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

STAMP = "environment.json"


class Stamp(BaseModel):
    """What an installed environment is; written last, so that an interrupted install leaves none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    distribution: str
    version: str
    needs: str
    lock_sha256: str | None


def engines_folder() -> Path:
    """Return where environments are kept: `engines` in SEATRIAL_CACHE, else in Seatrial's part of the user's cache."""
    chosen = os.environ.get("SEATRIAL_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "engines"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seatrial" / "engines"


def place_of(engine: str, version: str, needs: str) -> Path:
    """Return the folder of one engine's version for one kind of hardware."""
    return engines_folder() / f"{engine}-{version}-{needs}"


def interpreter_of(place: Path) -> Path:
    """Return the environment's interpreter."""
    return place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def read_stamp(place: Path) -> Stamp | None:
    """Return the stamp of a whole environment; None where there is none, it is not readable, or no interpreter is."""
    if not interpreter_of(place).exists():  # a link to a Python that was removed since
        return None
    try:
        return Stamp.model_validate_json((place / STAMP).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        return None


def stamps(engine: str | None = None) -> dict[Path, Stamp]:
    """Return every whole environment, or those of one engine, by folder."""
    places = sorted(engines_folder().glob("[!.]*"))
    found = {place: stamp for place in places if (stamp := read_stamp(place)) is not None}
    return {place: stamp for place, stamp in found.items() if engine in {None, stamp.engine}}
