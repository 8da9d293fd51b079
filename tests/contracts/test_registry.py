"""Engines are found by name; what is unknown, claimed twice or broken is said so."""

import json
import logging
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from adapters import registry
from adapters.simulated.adapter import SimulatedAdapter

GOOD = EntryPoint("other", "adapters.simulated.adapter:SimulatedAdapter", registry.GROUP)
BROKEN = EntryPoint("broken", "adapters.no_such_module:Adapter", registry.GROUP)
RAISES = EntryPoint("raises", "adapters.protocol:Violation", registry.GROUP)


def test_built_in_engine_is_found_by_name() -> None:
    assert isinstance(registry.get("simulated", ()), SimulatedAdapter)


def test_every_built_in_engine_loads_under_its_own_name() -> None:
    assert [registry.get(name, ()).name for name in registry.BUILT_IN] == list(registry.BUILT_IN)


def test_plugin_is_found_by_name_and_listed() -> None:
    assert isinstance(registry.get("other", (GOOD,)), SimulatedAdapter)
    assert registry.names((GOOD,)) == [*registry.BUILT_IN, "other"]


def test_unknown_name_lists_known_ones_and_the_nearest() -> None:
    with pytest.raises(registry.UnknownEngineError, match=r"known: llamacpp, .*simulated.*did you mean 'simulated'\?"):
        registry.get("simulatd", ())


@pytest.mark.parametrize(
    "found",
    [(GOOD, GOOD), (EntryPoint("simulated", "somewhere:Adapter", registry.GROUP),)],
    ids=["two plug-ins", "a plug-in and a built-in"],
)
def test_name_claimed_twice_is_refused(found: tuple[EntryPoint, ...]) -> None:
    with pytest.raises(registry.DuplicateEngineError, match="claimed twice"):
        registry.get("llamacpp", found)


@pytest.mark.parametrize("plugin", [BROKEN, RAISES], ids=["does not import", "does not construct"])
def test_broken_plugin_is_reported_and_skipped(plugin: EntryPoint, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert registry.names((plugin, GOOD)) == [*registry.BUILT_IN, "other"]
    assert f"{plugin.name!r} ({plugin.value}) does not load and is skipped" in caplog.text


def test_broken_plugin_asked_for_by_name_says_that_it_does_not_load() -> None:
    with pytest.raises(registry.UnknownEngineError, match="'broken' does not load"):
        registry.get("broken", (BROKEN,))


def test_adapters_are_imported_only_when_asked_for() -> None:
    program = "import json, sys, adapters.registry; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    loaded = [name for name in json.loads(done.stdout) if name.startswith("adapters.")]
    assert loaded == ["adapters.protocol", "adapters.registry"]
