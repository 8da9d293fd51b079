"""Checksums that lie beside weights: the sha256 of each file, as whoever put them there says. Reads no weights."""

import re
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from orchestrator.models.shelf import MANIFEST, Manifest

SUMS_FILE = "SHA256SUMS"
LINE = re.compile(r"(?P<sha256>[0-9a-fA-F]{64}) [ *](?:\./)?(?P<name>[^/]+)")


def sums_in(text: str) -> dict[str, str]:
    """Read the lines of `sha256sum` for files in the same folder; other lines say nothing."""
    found = (LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {one["name"]: one["sha256"].lower() for one in found if one is not None}


def sums_in_manifest(text: str) -> dict[str, str]:
    """Read what Seatrial's own manifest says of files in its folder; nothing where it is somebody else's."""
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError:
        return {}
    return {name: fact.sha256 for one in manifest.artefacts.values() for name, fact in one.files.items()}


READERS: Mapping[str, Callable[[str], dict[str, str]]] = {SUMS_FILE: sums_in, MANIFEST: sums_in_manifest}
