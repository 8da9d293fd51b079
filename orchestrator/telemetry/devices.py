"""Accelerators as values: what they are, what they do, and what makes them unfit for a measurement."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from orchestrator.telemetry.reading import GapError

IDLE_MEMORY_RATIO = 0.05


@dataclass(frozen=True, slots=True)
class Device:
    """What stays the same while an engine runs; None where the driver does not tell."""

    index: int
    name: str
    uuid: str
    memory_bytes: int
    power_cap_w: float | None
    is_mig: bool | None
    numa_node: int | None
    pcie: str | None


class DeviceProcess(NamedTuple):
    """A process that holds memory of a device; None where the driver does not tell how much."""

    pid: int
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class DeviceSample:
    """One look at a device; None where the driver does not tell. `xid_errors` counts since the probe was opened."""

    index: int
    memory_bytes: int
    utilization_ratio: float | None
    sm_clock_hz: float | None
    memory_clock_hz: float | None
    throttle_reasons: tuple[str, ...] | None
    power_w: float | None
    temperature_c: float | None
    ecc_errors: int | None
    xid_errors: int | None


class DeviceLink(NamedTuple):
    """How two devices are joined: `nvlink`, or the closest common ancestor on the PCIe tree."""

    first: int
    second: int
    kind: str


class DeviceProbe(Protocol):
    """Reads the accelerators of one machine."""

    driver_version: str

    def devices(self) -> tuple[Device, ...]:
        """Say what the devices are."""
        ...

    def links(self) -> tuple[DeviceLink, ...]:
        """Say how each pair of devices is joined."""
        ...

    def sample(self) -> tuple[DeviceSample, ...]:
        """Look at every device once.

        Raises:
            GapError: the driver does not answer.
        """
        ...

    def processes(self, index: int) -> tuple[DeviceProcess, ...]:
        """List the processes that hold memory of a device."""
        ...


def device_facts(probe: DeviceProbe | None) -> dict[str, str]:
    """Describe the devices as tags: names, driver, power caps, MIG, NUMA nodes, links; `none` where there is none."""
    if probe is None:
        return {"gpus": "none", "gpu_driver": "none"}
    devices = probe.devices()
    listed: dict[str, Sequence[object]] = {
        "gpus": [device.name for device in devices],
        "gpu_uuids": [device.uuid for device in devices],
        "gpu_memory_bytes": [device.memory_bytes for device in devices],
        "gpu_power_cap_w": [device.power_cap_w for device in devices],
        "gpu_mig": [device.is_mig for device in devices],
        "gpu_numa_nodes": [device.numa_node for device in devices],
        "gpu_pcie": [device.pcie for device in devices],
        "gpu_links": [f"{link.first}-{link.second}:{link.kind}" for link in probe.links()],
    }
    facts = {name: ", ".join(_word(value) for value in values) for name, values in listed.items()}
    return {"gpu_driver": probe.driver_version, **{name: value for name, value in facts.items() if value}}


def _word(value: object) -> str:
    return "unknown" if value is None else str(value)


def device_objections(probe: DeviceProbe | None, own_pids: Collection[int] = ()) -> list[str]:
    """Say what forbids to measure on these devices; an empty list allows it.

    A foreign process that holds memory, memory that is held by nobody we can see, and MIG on some devices only.
    """
    if probe is None:
        return []
    try:
        objections = [text for sample in probe.sample() for text in _busy(probe, sample, own_pids)]
    except GapError as gap:
        return [f"the devices cannot be read: {gap}"]
    modes = {device.index: device.is_mig for device in probe.devices() if device.is_mig is not None}
    if len(set(modes.values())) > 1:
        partitioned = ", ".join(str(index) for index, is_mig in modes.items() if is_mig)
        objections.append(f"MIG is on for devices {partitioned} of {len(modes)} only; measure on devices of one kind")
    return objections


def _busy(probe: DeviceProbe, sample: DeviceSample, own_pids: Collection[int]) -> list[str]:
    processes = probe.processes(sample.index)
    foreign = [one for one in processes if one.pid not in own_pids]
    if foreign:
        holders = ", ".join(f"process {one.pid} ({_word(one.memory_bytes)} bytes)" for one in foreign)
        return [f"device {sample.index} is in use by {holders}; wait for it to end or choose another device"]
    total_bytes = next(device.memory_bytes for device in probe.devices() if device.index == sample.index)
    if not processes and sample.memory_bytes > IDLE_MEMORY_RATIO * total_bytes:
        return [f"{sample.memory_bytes} bytes of device {sample.index} are held by a process that cannot be seen here"]
    return []
