"""Asks a running engine for its configuration as it resolved it: what was left unset has a value there."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from adapters.protocol import Readback
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import DeploymentError

TIMEOUT_S = 30.0


def read_back(readback: Readback | None, endpoint: Endpoint) -> dict[str, str]:
    """Return the engine's resolved settings as text; empty where it has no way to tell them.

    Raises:
        DeploymentError: it should tell and does not.
    """
    if readback is None:
        return {}
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    request = urllib.request.Request(endpoint.base_url + readback.path, headers=headers)  # noqa: S310 - our own engine
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - our own engine
            body = json.load(answer)
    except (OSError, ValueError) as error:
        raise DeploymentError(f"the engine does not tell its configuration at {readback.path}: {error}") from error
    return pick(body.get(readback.root), readback.fields)


def pick(tree: Any, fields: Mapping[str, str]) -> dict[str, str]:  # noqa: ANN401 - whatever JSON the engine gives
    """Take the settings at their dotted places; one that is not there is left out."""
    found = {name: _at(tree, place) for name, place in fields.items()}
    return {name: text for name, text in found.items() if text is not None}


def _at(tree: Any, place: str) -> str | None:  # noqa: ANN401 - as above
    for key in place.split("."):
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree if isinstance(tree, str) else json.dumps(tree)
