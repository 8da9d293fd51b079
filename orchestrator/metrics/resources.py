"""What the engine used in the window, and its cache hits, from telemetry. Absent series give None, never 0."""

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.measurement import Resources
from orchestrator.domain.records import RequestRecord, Window
from orchestrator.domain.telemetry import Series, Telemetry

MIN_COUNTER_SAMPLES = 2  # a difference has two ends


def summarise_telemetry(telemetry: Telemetry | None, window: Window) -> Resources:
    """Summarise the samples in [start, end): means and peaks of gauges, differences of counters."""
    if telemetry is None:
        return Resources()
    samples = {one.name: _inside(one, window) for one in telemetry.series}
    return Resources(
        host_memory_peak_bytes=_whole(_peak(samples.get("host_memory_bytes"))),
        host_cpu_cores=_mean(samples.get("host_cpu_cores")),
        kv_cache_utilization_mean=_mean(samples.get("kv_cache_utilization")),
        kv_cache_utilization_peak=_peak(samples.get("kv_cache_utilization")),
        requests_running_mean=_mean(samples.get("engine_requests_running")),
        requests_running_peak=_peak(samples.get("engine_requests_running")),
        requests_waiting_mean=_mean(samples.get("engine_requests_waiting")),
        requests_waiting_peak=_peak(samples.get("engine_requests_waiting")),
        preemptions=increase(telemetry.get("engine_preemptions"), window),
        device_memory_peak_bytes=_whole(_peak(samples.get("device_memory_bytes"))),
        device_utilization_mean=_mean(samples.get("device_utilization")),
        samples=max((values.size for values in samples.values()), default=0),
    )


def increase(counter: Series | None, window: Window) -> float | None:
    """Return by how much a counter rose over the window.

    From the last sample at or before the window's start (else the first inside) to the last before its end. None where
    fewer than two samples bound the window, and where the counter fell: its process began anew.
    """
    if counter is None:
        return None
    times, values = _finite(counter)
    first = max(int(np.searchsorted(times, window.start_ns, side="right")) - 1, 0)
    reached = values[first : int(np.searchsorted(times, window.end_ns, side="left"))]
    if reached.size < MIN_COUNTER_SAMPLES or (np.diff(reached) < 0).any():
        return None
    return float(reached[-1] - reached[0])


def is_throttled(telemetry: Telemetry | None, window: Window) -> bool | None:
    """Say whether a device's clocks were held down in the window; None where no device was sampled in it."""
    series = None if telemetry is None else telemetry.get("device_throttled")
    values = None if series is None else _inside(series, window)
    return bool(values.any()) if values is not None and values.size else None


def prefix_cache_hit_ratio(
    telemetry: Telemetry | None, issued: tuple[RequestRecord, ...], window: Window
) -> float | None:
    """Return cached over prompt tokens in the window, 0 to 1; None where neither source tells.

    The engine's own counters come first. Else the `cached_tokens` that it reports with each answer, over the
    completed requests for which it gives both counts.
    """
    if telemetry is not None:
        hits = increase(telemetry.get("prefix_cache_hit_tokens"), window)
        queries = increase(telemetry.get("prefix_cache_query_tokens"), window)
        if hits is not None and queries:
            return hits / queries
    return _hit_ratio_of(issued)


def _hit_ratio_of(issued: tuple[RequestRecord, ...]) -> float | None:
    pairs = [
        (one.cached_tokens_server, one.input_tokens_server)
        for one in issued
        if one.failure is None and one.cached_tokens_server is not None and one.input_tokens_server is not None
    ]
    prompt_tokens = sum(prompt for _, prompt in pairs)
    return sum(cached for cached, _ in pairs) / prompt_tokens if prompt_tokens else None


def _finite(series: Series) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    kept = np.isfinite(series.values)
    return series.times_ns[kept], series.values[kept]


def _inside(series: Series, window: Window) -> NDArray[np.float64]:
    times, values = _finite(series)
    return values[(times >= window.start_ns) & (times < window.end_ns)]


def _mean(values: NDArray[np.float64] | None) -> float | None:
    return float(values.mean()) if values is not None and values.size else None


def _peak(values: NDArray[np.float64] | None) -> float | None:
    return float(values.max()) if values is not None and values.size else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
