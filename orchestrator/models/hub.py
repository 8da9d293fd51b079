"""Weights from the Hugging Face hub by `hf://organisation/name`, where it can be reached or has been before."""

import os
import re
from pathlib import Path

from huggingface_hub import hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from orchestrator.domain.errors import InputError

PREFIX = "hf://"
ADDRESS = re.compile(r"hf://(?P<repo>[\w.-]+/[\w.-]+)(?P<file>/[^@]+\.gguf)?(?:@(?P<revision>[\w./-]+))?")
FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]


def fetch_from_hub(address: str) -> Path:
    """Fetch `hf://organisation/name[/file.gguf][@revision]` into the hub's own cache and return where it lies.

    Raises:
        InputError: not such an address, or the hub does not give it; with what to do.
    """
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise InputError(f"{address}: expected hf://organisation/name, with /file.gguf or @revision behind if need be")
    repo, file, revision = match["repo"], match["file"], match["revision"]
    try:
        if file:
            return Path(hf_hub_download(repo, file.removeprefix("/"), revision=revision))
        return Path(snapshot_download(repo, revision=revision, allow_patterns=FILES))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
        advice = "HF_HUB_OFFLINE is set; unset it" if offline else "check the name, your network and your hub token"
        raise InputError(
            f"{address}: the hub did not give it ({type(error).__name__}: {_first_line(error)}); {advice}, "
            "or give a local folder or GGUF file as the model's path"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "no reason given").splitlines()[0]
