import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from orchestrator.telemetry.device_source import device_values
from orchestrator.telemetry.devices import device_facts, device_objections
from orchestrator.telemetry.nvml import NvmlProbe, open_probe
from orchestrator.telemetry.reading import GapError

if TYPE_CHECKING:
    from conftest import FakeNvml

GIB = 1 << 30
IDLE = {0: GIB, 1: GIB}


def probe_of(nvml: "FakeNvml") -> NvmlProbe:
    probe = open_probe(nvml=nvml)
    assert probe is not None
    return probe


def test_a_machine_without_a_driver_has_no_probe(nvml: "FakeNvml") -> None:
    nvml.has_driver = False
    assert open_probe(nvml=nvml) is None
    assert device_facts(None) == {"gpus": "none", "gpu_driver": "none"}
    assert device_objections(None) == []


def test_units_are_ours(nvml: "FakeNvml") -> None:
    first, second = probe_of(nvml).sample()
    assert (first.memory_bytes, first.power_w, first.temperature_c) == (GIB, 100.0, 40)
    assert (first.utilization_ratio, first.sm_clock_hz, first.memory_clock_hz) == (0.5, 1001e6, 1002e6)
    assert first.throttle_reasons == ()
    assert second.throttle_reasons == ("hw_thermal",)


def test_what_the_driver_does_not_tell_is_none(nvml: "FakeNvml") -> None:
    nvml.mig[0] = None
    device = probe_of(nvml).devices()[0]
    assert device.is_mig is None
    assert device.numa_node is None
    assert (device.power_cap_w, device.pcie) == (700.0, "gen5 x16")


def test_only_the_chosen_devices_are_read(nvml: "FakeNvml") -> None:
    probe = open_probe([1], nvml)
    assert probe is not None
    assert [one.index for one in probe.sample()] == [1]


def test_a_lost_device_is_a_gap(nvml: "FakeNvml") -> None:
    probe = probe_of(nvml)
    nvml.is_lost = True
    with pytest.raises(GapError, match="NVML"):
        probe.sample()
    assert "cannot be read" in device_objections(probe)[0]


def test_xid_errors_are_counted_since_the_probe_was_opened(nvml: "FakeNvml") -> None:
    probe = probe_of(nvml)
    nvml.xid_events = 2
    assert [one.xid_errors for one in probe.sample()] == [2, 2]
    assert [one.xid_errors for one in probe.sample()] == [2, 2]


@pytest.mark.parametrize(("has_nvlink", "kind"), [(True, "nvlink"), (False, "host_bridge")])
def test_links_are_named(nvml: "FakeNvml", *, has_nvlink: bool, kind: str) -> None:
    nvml.has_nvlink = has_nvlink
    assert [tuple(link) for link in probe_of(nvml).links()] == [(0, 1, kind)]


def test_facts_are_words(nvml: "FakeNvml") -> None:
    facts = device_facts(probe_of(nvml))
    assert facts["gpus"] == "Pretended 0, Pretended 1"
    assert facts["gpu_numa_nodes"] == "unknown, unknown"
    assert facts["gpu_links"] == "0-1:nvlink"
    assert facts["gpu_driver"] == "570.1"


def test_values_of_all_devices_and_of_each(nvml: "FakeNvml") -> None:
    values = device_values(probe_of(nvml).sample())
    assert values["device_memory_bytes"] == 3 * GIB
    assert values["device_memory_bytes.1"] == 2 * GIB
    assert values["device_utilization"] == 0.75
    assert values["device_sm_clock_hz"] == 1001e6
    assert values["device_temperature_c"] == 50
    assert (values["device_throttled.0"], values["device_throttled"]) == (0.0, 1.0)


def test_one_device_has_no_index_in_its_names(nvml: "FakeNvml") -> None:
    probe = open_probe([0], nvml)
    assert probe is not None
    assert not [name for name in device_values(probe.sample()) if "." in name]


def test_an_idle_machine_has_no_objection(nvml: "FakeNvml") -> None:
    nvml.used_bytes = IDLE
    assert device_objections(probe_of(nvml)) == []


def test_a_foreign_process_is_an_objection_and_our_own_is_none(nvml: "FakeNvml") -> None:
    nvml.used_bytes = {0: 40 * GIB, 1: GIB}
    nvml.processes[0] = [SimpleNamespace(pid=os.getpid(), usedGpuMemory=39 * GIB)]
    probe = probe_of(nvml)
    assert device_objections(probe, {os.getpid()}) == []
    assert f"process {os.getpid()}" in device_objections(probe)[0]


def test_memory_that_nobody_seems_to_hold_is_an_objection(nvml: "FakeNvml") -> None:
    nvml.used_bytes = {0: 40 * GIB, 1: GIB}
    (objection,) = device_objections(probe_of(nvml))
    assert "device 0" in objection
    assert "cannot be seen" in objection


def test_mig_on_some_devices_only_is_an_objection(nvml: "FakeNvml") -> None:
    nvml.used_bytes = IDLE
    nvml.mig = {0: [1, 1], 1: [0, 0]}
    (objection,) = device_objections(probe_of(nvml))
    assert "devices 0 of 2" in objection
