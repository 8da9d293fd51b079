from pathlib import Path

import pytest

from orchestrator.telemetry.cgroup import cpu_limit, memory_limit
from orchestrator.telemetry.hardware import host_facts, read_cpu_flags, read_cpu_model, read_hardware, usable_cores

GIB = 1 << 30


def groups(tmp_path: Path, membership: str, settings: dict[str, str]) -> tuple[Path, Path]:
    mount = tmp_path / "cgroup"
    mount.mkdir()
    for name, text in settings.items():
        path = mount / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    listed = tmp_path / "membership"
    listed.write_text(membership)
    return mount, listed


def test_version_two_takes_the_tightest_of_all_parents(tmp_path: Path) -> None:
    settings = {
        "a/b/cpu.max": "max 100000",
        "a/cpu.max": "150000 100000",
        "a/b/memory.max": str(8 * GIB),
        "a/memory.max": str(4 * GIB),
        "memory.max": "max",
    }
    where = groups(tmp_path, "0::/a/b\n", settings)
    assert cpu_limit(*where) == 1.5
    assert memory_limit(*where) == 4 * GIB


def test_version_one_reads_each_controller_where_it_is_mounted(tmp_path: Path) -> None:
    settings = {
        "cpu,cpuacct/job/cpu.cfs_quota_us": "200000",
        "cpu,cpuacct/job/cpu.cfs_period_us": "100000",
        "memory/job/memory.limit_in_bytes": str(2 * GIB),
        "memory/memory.limit_in_bytes": "9223372036854771712",
    }
    where = groups(tmp_path, "3:cpu,cpuacct:/job\n2:memory:/job\n0::/\n", settings)
    assert cpu_limit(*where) == 2.0
    assert memory_limit(*where) == 2 * GIB


def test_a_group_that_is_not_mounted_here_falls_back_to_the_root(tmp_path: Path) -> None:
    where = groups(tmp_path, "0::/host/only\n", {"cpu.max": "50000 100000"})
    assert cpu_limit(*where) == 0.5


def test_no_limit_is_none(tmp_path: Path) -> None:
    settings = {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}
    where = groups(tmp_path, "1:cpu:/\n", settings)
    assert cpu_limit(*where) is None
    assert memory_limit(*where) is None
    assert cpu_limit(tmp_path, tmp_path / "none") is None


@pytest.mark.parametrize(("allowed", "quota", "cores"), [(8, None, 8), (8, 2.5, 2), (2, 64.0, 2), (8, 0.5, 1)])
def test_whole_cores_and_at_least_one(allowed: int, quota: float | None, cores: int) -> None:
    assert usable_cores(allowed, quota) == cores


def test_this_machine_has_something() -> None:
    hardware = read_hardware()
    facts = host_facts()
    assert hardware.cpu_count >= 1
    assert hardware.memory_bytes > GIB // 4
    assert facts["cpu_cores"] == str(hardware.cpu_count)
    assert all(facts.values())


def test_a_processor_that_is_not_told_is_unknown(tmp_path: Path) -> None:
    assert read_cpu_model(tmp_path / "none") == "unknown"
    (tmp_path / "cpuinfo").write_text("processor: 0\n")
    assert read_cpu_model(tmp_path / "cpuinfo") == "unknown"


def test_the_processors_features_are_told_or_not_known(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("model name\t: any\nflags\t\t: fpu avx2 avx512f\n")
    assert read_cpu_flags(tmp_path / "cpuinfo") == {"fpu", "avx2", "avx512f"}
    assert read_cpu_flags(tmp_path / "none") is None
