"""Our flags, defaults and metrics against each version that we call verified, by what that version said of itself.

`tests/engines/test_engine_versions.py` records the files and compares them with the installed engines. A default of
None is not compared, since such a flag is not passed: the engine's own default stays, whatever it is.
"""

from typing import Any

import pytest

from adapters import registry
from adapters.llamacpp import config as llamacpp
from adapters.transformers_serve import config as transformers
from adapters.transformers_serve import memory
from adapters.vllm import config as vllm
from tests.golden.engine_facts import ARGUMENTS, GOLDEN, golden_facts, golden_path

OURS = {"llamacpp": llamacpp.OURS, "transformers": transformers.OURS, "vllm": vllm.OURS | vllm.OF_SERVER}
THEIR_NAMES = {"vllm": vllm.PARALLEL_FLAGS}
TRIED = [name for name in registry.BUILT_IN if registry.get(name).environment.is_tried]
VERSIONS = [(name, version) for name in TRIED for version in registry.get(name).environment.verified]

every_version = pytest.mark.parametrize(("engine", "version"), VERSIONS)


def our_flags(engine: str) -> dict[str, Any]:
    names = THEIR_NAMES.get(engine, {})
    settings = registry.get(engine).config_type().model_dump(mode="json", exclude=set(OURS[engine]))
    return {names.get(name, name): value for name, value in settings.items()}


def is_offered(series: str, kind: str, offered: set[str]) -> bool:
    """Say whether an engine offers a series; of a counter its source may leave out the ending that Prometheus adds."""
    return series in offered or (kind == "counter" and series.removesuffix("_total") in offered)


def test_every_engine_that_was_tried_has_a_verified_version() -> None:
    with_builds = {name for name in TRIED if registry.get(name).environment.builds}
    assert {engine for engine, _ in VERSIONS} == with_builds == set(ARGUMENTS)


def test_every_pinned_version_of_a_tried_engine_is_verified() -> None:
    for name in TRIED:
        environment = registry.get(name).environment
        assert {build.version for build in environment.builds} <= set(environment.verified)


def test_every_golden_file_belongs_to_a_verified_version() -> None:
    assert set(GOLDEN.glob("*.json")) == {golden_path(engine, version) for engine, version in VERSIONS}


@every_version
def test_every_setting_is_a_flag_of_the_engine(engine: str, version: str) -> None:
    facts = golden_facts(engine, version)
    assert facts["version"] == version
    assert set(our_flags(engine)) - set(facts["flags"]) == set()


@every_version
def test_every_default_that_is_passed_is_the_engines(engine: str, version: str) -> None:
    ours = {name: value for name, value in our_flags(engine).items() if value is not None}
    theirs = golden_facts(engine, version)["flags"]
    assert ours
    assert {name: theirs[name] for name in ours} == pytest.approx(ours)
    assert {name: type(theirs[name]) for name in ours} == {name: type(value) for name, value in ours.items()}


@every_version
def test_every_mapped_metric_is_offered(engine: str, version: str) -> None:
    offered = set(golden_facts(engine, version)["metrics"])
    mapped = registry.get(engine).server_metrics()
    assert [series for series, metric in mapped.items() if not is_offered(series, metric.kind, offered)] == []


def test_the_cache_of_transformers_is_counted_with_the_engines_constants() -> None:
    for version in registry.get("transformers").environment.verified:
        constants = golden_facts("transformers", version)["constants"]
        assert constants == {
            "block_tokens": memory.BLOCK_TOKENS,
            "batch_tokens": memory.BATCH_TOKENS,
            "max_requests": memory.MAX_REQUESTS,
        }
