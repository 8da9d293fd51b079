"""A pretended NVML: the real module's constants and errors, with two devices behind its functions."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pynvml
import pytest

# ruff: noqa: N802, ARG002 - NVML names its functions and their arguments

GIB = 1 << 30


def _is_call(name: str, value: object) -> bool:
    # A function that the fake lacks must be missing, not reach for a real driver.
    return name.startswith("nvml") and callable(value)


class FakeNvml(ModuleType):
    """Two devices by handle 0 and 1; tests change what they say."""

    def __init__(self) -> None:
        super().__init__("pynvml")
        own = {name for name in dir(type(self)) if name.startswith("nvml")}
        real = {name: value for name, value in vars(pynvml).items() if not name.startswith("__") and name not in own}
        self.__dict__.update({name: value for name, value in real.items() if not _is_call(name, value)})
        self.has_driver = True
        self.processes: dict[int, list[Any]] = {0: [], 1: []}
        self.mig: dict[int, list[int] | None] = {0: [0, 0], 1: [0, 0]}
        self.used_bytes = {0: GIB, 1: 2 * GIB}
        self.throttle = {0: 0, 1: pynvml.nvmlClocksEventReasonHwThermalSlowdown | pynvml.nvmlClocksEventReasonGpuIdle}
        self.is_lost = False
        self.xid_events = 0
        self.has_nvlink = True

    def error(self, value: int) -> Exception:
        found: Exception = pynvml.NVMLError(value)
        return found

    def nvmlInit(self) -> None:
        if not self.has_driver:
            raise self.error(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlSystemGetDriverVersion(self) -> str:
        return "570.1"

    def nvmlDeviceGetName(self, handle: int) -> str:
        return f"Pretended {handle}"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        if self.is_lost:
            raise self.error(pynvml.NVML_ERROR_GPU_IS_LOST)
        return SimpleNamespace(total=80 * GIB, used=self.used_bytes[handle])

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        mode = self.mig[handle]
        if mode is None:
            raise self.error(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return mode

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:
        return 700_000

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return 100_000 * (handle + 1)

    def nvmlDeviceGetNumaNodeId(self, handle: int) -> int:
        raise self.error(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: int) -> int:
        return 5

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: int) -> int:
        return 16

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(gpu=50 * (handle + 1))

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        return 1000 + 100 * handle + kind

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:
        return 40 + 10 * handle + sensor

    def nvmlDeviceGetTotalEccErrors(self, handle: int, kind: int, counter: int) -> int:
        assert (kind, counter) == (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
        return handle

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:
        return self.throttle[handle]

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return self.processes[handle]

    def nvmlDeviceGetP2PStatus(self, one: int, other: int, capability: int) -> int:
        assert (one, other, capability) == (0, 1, pynvml.NVML_P2P_CAPS_INDEX_NVLINK)
        return pynvml.NVML_P2P_STATUS_OK if self.has_nvlink else pynvml.NVML_P2P_STATUS_OK + 1

    def nvmlDeviceGetTopologyCommonAncestor(self, one: int, other: int) -> int:
        level: int = pynvml.NVML_TOPOLOGY_HOSTBRIDGE
        return level

    def nvmlEventSetCreate(self) -> object:
        return object()

    def nvmlDeviceRegisterEvents(self, handle: int, kinds: int, events: object) -> None:
        """Accept."""

    def nvmlEventSetWait_v2(self, events: object, timeout_ms: int) -> object:
        if self.xid_events == 0:
            raise self.error(pynvml.NVML_ERROR_TIMEOUT)
        self.xid_events -= 1
        return object()


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()
