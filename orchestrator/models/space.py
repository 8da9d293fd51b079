"""Free space on disk, asked for before weights are written. Writes nothing."""

import shutil
from pathlib import Path

from orchestrator.domain.errors import InputError

MB = 1_000_000


def check_space(folder: Path, needed_bytes: int, *, what: str, place_key: str) -> None:
    """Refuse what does not fit where `folder` is, or will be; `place_key` is the variable that names another place.

    Raises:
        InputError: too little is free; with both sizes.
    """
    place = next(one for one in (folder, *folder.parents) if one.exists())
    free_bytes = shutil.disk_usage(place).free
    if free_bytes < needed_bytes:
        raise InputError(
            f"{what} takes up to {needed_bytes / MB:,.0f} MB in {folder}, where {free_bytes / MB:,.0f} MB are free; "
            f"nothing was written: free some space there or name another folder with {place_key}"
        )
