"""One file per engine: what may vary there and what must hold between flags."""

import difflib
from importlib.resources import files

import yaml

from search_spaces.space import SearchSpace, SpaceError


def engines() -> list[str]:
    """List the engines that have a catalogue file."""
    return sorted(one.name.removesuffix(".yaml") for one in files(__name__).iterdir() if one.name.endswith(".yaml"))


def load_space(engine: str) -> SearchSpace:
    """Read an engine's whole space from its catalogue file.

    Raises:
        SpaceError: no catalogue file has the engine's name.
    """
    known = engines()
    if engine not in known:
        near = difflib.get_close_matches(engine, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SpaceError(f"no search space for engine {engine!r}; there is one for {', '.join(known)}{hint}")
    text = (files(__name__) / f"{engine}.yaml").read_text(encoding="utf-8")
    return SearchSpace.model_validate({"engine": engine, **yaml.safe_load(text)})
