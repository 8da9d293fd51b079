"""What this machine has, as far as this process may use it."""

import os
import platform
from pathlib import Path

import psutil

from adapters.protocol import Hardware
from orchestrator.telemetry.cgroup import cpu_limit, memory_limit
from orchestrator.telemetry.devices import device_facts
from orchestrator.telemetry.nvml import open_probe

CPU_INFO = Path("/proc/cpuinfo")


def read_hardware() -> Hardware:
    """Read cores, memory and devices; affinity and control groups count, and at least one core is there."""
    total_bytes = psutil.virtual_memory().total
    probe = open_probe()
    devices = probe.devices() if probe is not None else ()
    return Hardware(
        cpu_count=usable_cores(len(os.sched_getaffinity(0)), cpu_limit()),
        memory_bytes=min(total_bytes, memory_limit() or total_bytes),
        gpu_names=tuple(device.name for device in devices),
        gpu_memory_bytes=tuple(device.memory_bytes for device in devices),
        cpu_flags=read_cpu_flags(),
    )


def usable_cores(allowed: int, quota: float | None) -> int:
    """Return the whole cores that affinity and quota leave, at least one."""
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def host_facts() -> dict[str, str]:
    """Describe this machine as tags: processor, cores, memory, kernel, devices and their driver."""
    hardware = read_hardware()
    return {
        "cpu_model": read_cpu_model(),
        "cpu_cores": str(hardware.cpu_count),
        "memory_bytes": str(hardware.memory_bytes),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        **device_facts(open_probe()),
    }


def read_cpu_model(path: Path = CPU_INFO) -> str:
    """Return the processor's name, `unknown` where the system does not tell."""
    return _cpu_fact("model name", path) or "unknown"


def read_cpu_flags(path: Path = CPU_INFO) -> frozenset[str] | None:
    """Return the features of an x86 processor, None where the system does not tell."""
    flags = _cpu_fact("flags", path)
    return frozenset(flags.split()) if flags else None


def _cpu_fact(name: str, path: Path) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
