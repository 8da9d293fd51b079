"""Accelerators as series: one of each kind for all devices together, and one a device where there are several."""

import time
from collections.abc import Callable, Iterable
from typing import ClassVar

from orchestrator.telemetry.devices import DeviceProbe, DeviceSample
from orchestrator.telemetry.reading import Reading

Fold = Callable[[list[float]], float]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


FOLDS: dict[str, Fold] = {
    "device_memory_bytes": sum,
    "device_utilization": _mean,
    "device_power_w": sum,
    "device_temperature_c": max,
    "device_sm_clock_hz": min,
    "device_memory_clock_hz": min,
    "device_throttled": max,
    "device_ecc_errors": sum,
    "device_xid_errors": max,
}


class DeviceSource:
    """Every device that the probe sees."""

    name: ClassVar[str] = "devices"

    def __init__(self, probe: DeviceProbe) -> None:
        self._probe = probe

    def read(self) -> Reading:
        """Look once."""
        now_ns = time.monotonic_ns()
        return Reading(now_ns, device_values(self._probe.sample()))


def device_values(samples: Iterable[DeviceSample]) -> dict[str, float]:
    """Name each value; over all devices memory and power are sums, clocks the slowest, temperature the hottest."""
    each = {sample.index: _values(sample) for sample in samples}
    values = {}
    for name, fold in FOLDS.items():
        known = {index: one[name] for index, one in each.items() if name in one}
        if known:
            values[name] = fold(list(known.values()))
        if len(each) > 1:
            values |= {f"{name}.{index}": value for index, value in known.items()}
    return values


def _values(sample: DeviceSample) -> dict[str, float]:
    reasons = sample.throttle_reasons
    values = {
        "device_memory_bytes": sample.memory_bytes,
        "device_utilization": sample.utilization_ratio,
        "device_power_w": sample.power_w,
        "device_temperature_c": sample.temperature_c,
        "device_sm_clock_hz": sample.sm_clock_hz,
        "device_memory_clock_hz": sample.memory_clock_hz,
        "device_throttled": None if reasons is None else float(bool(reasons)),
        "device_ecc_errors": sample.ecc_errors,
        "device_xid_errors": sample.xid_errors,
    }
    return {name: float(value) for name, value in values.items() if value is not None}
