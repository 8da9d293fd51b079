"""Weights from the Hugging Face hub by `hf://organisation/name`, where it can be reached or has been before.

The hub's own client locks its cache and checks sizes; a private repository's token comes from the environment only.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import DryRunFileInfo, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from orchestrator.domain.errors import InputError
from orchestrator.models.space import check_space

PREFIX = "hf://"
ADDRESS = re.compile(r"hf://(?P<repo>[\w.-]+/[\w.-]+)(?P<file>/[^@]+\.gguf)?(?:@(?P<revision>[\w./-]+))?")
FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
TOKEN_KEY = "HF_TOKEN"  # noqa: S105 - a variable's name


def fetch_from_hub(address: str) -> Path:
    """Fetch `hf://organisation/name[/file.gguf][@revision]` into the hub's own cache and return where it lies.

    Raises:
        InputError: not such an address, it does not fit on the disk, or the hub does not give it; with what to do.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise InputError(f"{address}: expected hf://organisation/name, with /file.gguf or @revision behind if need be")
    repo, file = match["repo"], match["file"]
    options = {"revision": match["revision"], "token": os.environ.get(TOKEN_KEY) or False}
    is_offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    if not is_offline:
        needed_bytes = _missing_bytes(repo, file, options)
        check_space(Path(constants.HF_HUB_CACHE), needed_bytes or 0, what=f"fetching {address}", place_key="HF_HOME")
    try:
        return Path(_ask(repo, file, options))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        advice = (
            "HF_HUB_OFFLINE is set; unset it"
            if is_offline
            else f"check the name, your network and, for a private one, your hub token in {TOKEN_KEY}"
        )
        raise InputError(
            f"{address}: the hub did not give it ({type(error).__name__}: {_first_line(error)}); {advice}, "
            "or give a local folder or GGUF file as the model's path"
        ) from error


def _ask(repo: str, file: str | None, options: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a path, or files of a dry run
    if file:
        return hf_hub_download(repo, file.removeprefix("/"), **options)
    return snapshot_download(repo, allow_patterns=FILES, **options)


def _missing_bytes(repo: str, file: str | None, options: Mapping[str, Any]) -> int | None:
    """Sum up what is not in the cache yet; None where the hub does not tell, and then fetching says why."""
    try:
        answer = _ask(repo, file, {**options, "dry_run": True})
    except (OSError, HfHubHTTPError, HFValidationError):
        return None
    files: list[DryRunFileInfo] = answer if isinstance(answer, list) else [answer]
    return sum(one.file_size or 0 for one in files if one.will_download)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "no reason given").splitlines()[0]
