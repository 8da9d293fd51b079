"""What one look at a source gives: values at one time, or a gap with its reason. A gap is never a zero."""

from typing import ClassVar, NamedTuple, Protocol


class Reading(NamedTuple):
    """Values by canonical name at one time of CLOCK_MONOTONIC, in nanoseconds."""

    time_ns: int
    values: dict[str, float]


class GapError(Exception):
    """The source could not be read this time; the message says why."""


class Source(Protocol):
    """Something that can be looked at again and again."""

    name: ClassVar[str]

    def read(self) -> Reading:
        """Look once.

        Raises:
            GapError: there is nothing to be read now.
        """
        ...


UNITS = {
    "host_memory_bytes": "bytes",
    "host_cpu_cores": "cores",
    "host_processes": "processes",
    "host_available_bytes": "bytes",
    "machine_cpu_ratio": "ratio",
    "device_memory_bytes": "bytes",
    "device_utilization": "ratio",
    "device_power_w": "W",
    "device_temperature_c": "C",
    "device_sm_clock_hz": "Hz",
    "device_memory_clock_hz": "Hz",
    "device_throttled": "ratio",
    "device_ecc_errors": "errors",
    "device_xid_errors": "errors",
}


def unit_of(name: str) -> str | None:
    """Return the unit of a series that we name ourselves; `.<index>` of a device does not count."""
    base, _, suffix = name.rpartition(".")
    return UNITS.get(base if suffix.isdigit() else name)
