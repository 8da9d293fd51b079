"""Finds adapters by name: the built-in ones by lazy path, others by entry point."""

import difflib
import logging
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from adapters.protocol import EngineAdapter

GROUP = "seatrial.adapters"
BUILT_IN: Mapping[str, str] = {
    "llamacpp": "adapters.llamacpp.adapter:LlamaCppAdapter",
    "mii": "adapters.mii.adapter:MiiAdapter",
    "sglang": "adapters.sglang.adapter:SglangAdapter",
    "simulated": "adapters.simulated.adapter:SimulatedAdapter",
    "transformers": "adapters.transformers_serve.adapter:TransformersAdapter",
    "trtllm": "adapters.trtllm.adapter:TrtllmAdapter",
    "vllm": "adapters.vllm.adapter:VllmAdapter",
}

logger = logging.getLogger(__name__)


class UnknownEngineError(LookupError):
    """No adapter has this name."""


class DuplicateEngineError(ValueError):
    """Two adapters claim one name."""


def _third_party(found: Iterable[EntryPoint] | None) -> dict[str, EntryPoint]:
    named: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP) if found is None else found:
        if point.name in BUILT_IN or point.name in named:
            raise DuplicateEngineError(f"engine {point.name!r} is claimed twice; the second is {point.value!r}")
        named[point.name] = point
    return named


def names(found: Iterable[EntryPoint] | None = None) -> list[str]:
    """List every engine that loads; a broken plug-in is reported in the log and skipped."""
    return [*BUILT_IN, *(name for name, point in _third_party(found).items() if _load(point) is not None)]


def _load(point: EntryPoint) -> EngineAdapter | None:
    try:
        adapter: EngineAdapter = point.load()()
    except Exception:
        logger.warning("engine plug-in %r (%s) does not load and is skipped", point.name, point.value, exc_info=True)
        return None
    return adapter


def get(name: str, found: Iterable[EntryPoint] | None = None) -> EngineAdapter:
    """Return the adapter of that name.

    Raises:
        UnknownEngineError: no adapter has the name, and the known ones are listed; or its plug-in does not load.
        DuplicateEngineError: two adapters claim one name.
    """
    plugins = _third_party(found)
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        adapter: EngineAdapter = getattr(import_module(module), attribute)()
        return adapter
    if name not in plugins:
        raise UnknownEngineError(_unknown(name, [*BUILT_IN, *plugins]))
    loaded = _load(plugins[name])
    if loaded is None:
        raise UnknownEngineError(f"engine {name!r} does not load: repair or remove the plug-in {plugins[name].value!r}")
    return loaded


def _unknown(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"unknown engine {name!r}; known: {', '.join(known)}{hint}"
