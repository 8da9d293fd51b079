"""What telemetry says about a measurement's worth."""

from orchestrator.domain.telemetry import Telemetry


def was_throttled(telemetry: Telemetry, *, start_ns: int, end_ns: int) -> bool | None:
    """Say whether a device's clocks were held down in [start, end): by heat, by the power cap or by a hardware brake.

    None where no device was sampled in that time.
    """
    series = telemetry.get("device_throttled")
    if series is None:
        return None
    inside = series.values[(series.times_ns >= start_ns) & (series.times_ns < end_ns)]
    return bool(inside.any()) if inside.size else None
