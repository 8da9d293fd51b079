"""Run by llama.cpp's interpreter: prints its parameters with their defaults, spelled as the adapter spells them.

Only a running server tells its series: they are added by who asks.
"""

import json
import sys
from collections.abc import Iterator
from enum import Enum
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location

import xllamacpp


def leaves(owner: object, path: str = "") -> Iterator[tuple[str, object]]:
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or callable(value):
            continue
        if type(value).__module__.startswith("xllamacpp") and not isinstance(value, Enum):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name, value


def plain(value: object) -> object:
    """Return what JSON holds; of a list or set how long it is."""
    if isinstance(value, Enum):
        return value.name.lower()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__} of {len(value)}>"


def flags(serve_path: str) -> dict[str, object]:
    spec = spec_from_file_location("serve", serve_path)
    serve = module_from_spec(spec)
    spec.loader.exec_module(serve)
    ours = {path: name for name, path in serve.PATHS.items()}
    params = xllamacpp.CommonParams()
    found = {ours.get(path, path.replace(".", "_")): value for path, value in leaves(params)}
    return {name: plain(value) for name, value in found.items()} | serve.read(params, [*serve.PATHS, *serve.ENUMS])


if __name__ == "__main__":
    json.dump({"version": version("xllamacpp"), "flags": flags(sys.argv[1])}, sys.stdout)
