"""Reads NVIDIA devices through NVML. The only place that calls `pynvml`; changes no setting of a device."""

import ctypes
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import combinations
from types import ModuleType
from typing import Any

from orchestrator.telemetry.devices import Device, DeviceLink, DeviceProcess, DeviceSample
from orchestrator.telemetry.reading import GapError

LIBRARY = "libnvidia-ml.so.1"
MILLI = 1000.0
PERCENT = 100.0
HZ_PER_MHZ = 1e6
THROTTLE_REASONS = {
    "sw_power_cap": "nvmlClocksEventReasonSwPowerCap",
    "hw_slowdown": "nvmlClocksEventReasonHwSlowdown",
    "sw_thermal": "nvmlClocksEventReasonSwThermalSlowdown",
    "hw_thermal": "nvmlClocksEventReasonHwThermalSlowdown",
    "hw_power_brake": "nvmlClocksEventReasonHwPowerBrakeSlowdown",
}
ANCESTORS = {
    "same_board": "NVML_TOPOLOGY_INTERNAL",
    "one_switch": "NVML_TOPOLOGY_SINGLE",
    "several_switches": "NVML_TOPOLOGY_MULTIPLE",
    "host_bridge": "NVML_TOPOLOGY_HOSTBRIDGE",
    "numa_node": "NVML_TOPOLOGY_NODE",
    "system": "NVML_TOPOLOGY_SYSTEM",
}


def open_probe(indices: Sequence[int] | None = None, nvml: ModuleType | None = None) -> "NvmlProbe | None":
    """Open NVML for the devices named, None for all; None where this machine has no driver or no device."""
    nvml = nvml or _import_nvml()
    if nvml is None:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    count = nvml.nvmlDeviceGetCount()
    chosen = range(count) if indices is None else indices
    return NvmlProbe(nvml, {index: nvml.nvmlDeviceGetHandleByIndex(index) for index in chosen}) if count else None


def _import_nvml() -> ModuleType | None:
    # The bindings take a third of a second to import: look for the driver's library first.
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return import_module("pynvml")


class NvmlProbe:
    """NVIDIA devices by index."""

    def __init__(self, nvml: ModuleType, handles: dict[int, Any]) -> None:
        self._nvml = nvml
        self._handles = handles
        self._untold = {
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_NO_PERMISSION,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        }
        self.driver_version = str(nvml.nvmlSystemGetDriverVersion())
        self._xid_errors = 0
        self._xid_events = self._ask(self._register_xid)

    def devices(self) -> tuple[Device, ...]:
        """Say what the devices are."""
        return tuple(self._device(index, handle) for index, handle in self._handles.items())

    def links(self) -> tuple[DeviceLink, ...]:
        """Say how each pair of devices is joined."""
        pairs = combinations(self._handles.items(), 2)
        return tuple(DeviceLink(first, second, self._link(one, other)) for (first, one), (second, other) in pairs)

    def sample(self) -> tuple[DeviceSample, ...]:
        """Look at every device once.

        Raises:
            GapError: the driver does not answer, a device is lost for example.
        """
        try:
            self._count_xid()
            return tuple(self._sample(index, handle) for index, handle in self._handles.items())
        except self._nvml.NVMLError as error:
            raise GapError(f"NVML: {error}") from error

    def processes(self, index: int) -> tuple[DeviceProcess, ...]:
        """List the processes that compute on a device; empty also where the driver does not tell."""
        found = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, self._handles[index]) or ()
        return tuple(DeviceProcess(one.pid, one.usedGpuMemory) for one in found)

    def _ask(self, call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - NVML is untyped
        try:
            return call(*arguments)
        except self._nvml.NVMLError as error:
            if error.value in self._untold:
                return None
            raise

    def _device(self, index: int, handle: object) -> Device:
        nvml = self._nvml
        mig = self._ask(nvml.nvmlDeviceGetMigMode, handle)
        generation = self._ask(nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle)
        width = self._ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle)
        return Device(
            index=index,
            name=str(nvml.nvmlDeviceGetName(handle)),
            uuid=str(nvml.nvmlDeviceGetUUID(handle)),
            memory_bytes=nvml.nvmlDeviceGetMemoryInfo(handle).total,
            power_cap_w=_scaled(self._ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle), 1 / MILLI),
            is_mig=None if mig is None else mig[0] == nvml.NVML_DEVICE_MIG_ENABLE,
            numa_node=self._ask(nvml.nvmlDeviceGetNumaNodeId, handle),
            pcie=None if generation is None or width is None else f"gen{generation} x{width}",
        )

    def _sample(self, index: int, handle: object) -> DeviceSample:
        nvml = self._nvml
        rates = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        ecc = (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
        return DeviceSample(
            index=index,
            memory_bytes=nvml.nvmlDeviceGetMemoryInfo(handle).used,
            utilization_ratio=None if rates is None else rates.gpu / PERCENT,
            sm_clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM), HZ_PER_MHZ),
            memory_clock_hz=_scaled(self._ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM), HZ_PER_MHZ),
            throttle_reasons=self._throttle_reasons(handle),
            power_w=_scaled(self._ask(nvml.nvmlDeviceGetPowerUsage, handle), 1 / MILLI),
            temperature_c=self._ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            ecc_errors=self._ask(nvml.nvmlDeviceGetTotalEccErrors, handle, *ecc),
            xid_errors=None if self._xid_events is None else self._xid_errors,
        )

    def _throttle_reasons(self, handle: object) -> tuple[str, ...] | None:
        mask = self._ask(self._nvml.nvmlDeviceGetCurrentClocksEventReasons, handle)
        if mask is None:
            return None
        return tuple(name for name, constant in THROTTLE_REASONS.items() if mask & getattr(self._nvml, constant))

    def _link(self, one: object, other: object) -> str:
        nvml = self._nvml
        joined = self._ask(nvml.nvmlDeviceGetP2PStatus, one, other, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        if joined == nvml.NVML_P2P_STATUS_OK:
            return "nvlink"
        level = self._ask(nvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
        return next((name for name, constant in ANCESTORS.items() if level == getattr(nvml, constant)), "unknown")

    def _register_xid(self) -> object:
        events = self._nvml.nvmlEventSetCreate()
        for handle in self._handles.values():
            self._nvml.nvmlDeviceRegisterEvents(handle, self._nvml.nvmlEventTypeXidCriticalError, events)
        return events

    def _count_xid(self) -> None:
        while self._xid_events is not None:
            try:
                self._nvml.nvmlEventSetWait_v2(self._xid_events, 0)
            except self._nvml.NVMLError as error:
                if error.value != self._nvml.NVML_ERROR_TIMEOUT:
                    raise
                return
            self._xid_errors += 1


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
