import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.registry import BUILT_IN, get
from orchestrator.domain.measurement import Rate
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.domain.slo import Slo
from orchestrator.metrics.names import flat_end, flat_name, flatten, metric_names
from orchestrator.metrics.schema import measurement_schema
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.telemetry.reading import UNITS as UNITS_OF_OURS

MakeRecord = Callable[..., RequestRecord]
MakeLog = Callable[..., ReplayLog]
REPOSITORY = Path(__file__).parents[3]
FACTS = MeasurementFacts("t", "s", "english", None, "salted", False, "2030-01-01T00:00:00+00:00", 2.0, "forced")
UNITS = {"_s": "s", "_rps": "requests/s", "_bytes": "bytes", "_ratio": "ratio"}


def _documented(heading: str) -> dict[str, str]:
    """Read the unit of every name in the tables under a heading of docs/METRICS.md."""
    text = (REPOSITORY / "docs" / "METRICS.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", section, flags=re.MULTILINE))


def test_the_document_lists_exactly_the_names_that_are_tracked() -> None:
    assert sorted(_documented("Metrics")) == list(metric_names())


def test_the_documented_unit_is_the_one_in_the_name() -> None:
    for name, unit in _documented("Metrics").items():
        if name.endswith("_per_s"):
            assert unit == ("tokens/s" if name.startswith("output_tokens") else "requests/s"), name
        else:
            suffix = next((one for one in UNITS if name.endswith(one)), None)
            assert suffix is None or unit == UNITS[suffix], name


def test_the_document_lists_every_series_that_engines_and_machines_are_sampled_for() -> None:
    documented = _documented("Telemetry")
    offered = {one.name: one.unit for name in BUILT_IN for one in get(name).server_metrics().values()} | UNITS_OF_OURS
    assert offered.items() <= documented.items()


def test_flat_names_are_published_names_with_finite_values(record: MakeRecord, log: MakeLog) -> None:
    one = summarise(log([record(index, intended_ms=index) for index in range(40)]), FACTS, slo=Slo(ttft_s=1.0))
    flat = flatten(one)
    assert set(flat) <= set(metric_names())
    assert all(isinstance(value, float) and math.isfinite(value) for value in flat.values())
    assert flat["ttft_p90_s"] == pytest.approx(0.050)
    assert flat["ttft_count"] == 40
    assert flat["goodput_rps"] == one.goodput_rps
    assert (flat["is_sound"], flat["is_valid"], flat["window_is_steady"]) == (1.0, 1.0, 1.0)


def test_what_is_missing_is_left_out_and_not_zero(record: MakeRecord, log: MakeLog) -> None:
    flat = flatten(summarise(log([record()]), FACTS))
    absent = {"ttft_p50_s", "ttft_p99_s", "goodput_rps", "users", "prefix_cache_hit_rate", "host_memory_peak_bytes"}
    assert not absent & set(flat)
    assert flat["num_failed_timeout"] == 0.0  # counted, and none there


@pytest.mark.parametrize(
    ("name", "part", "flat"),
    [
        ("ttft_s", "p50", "ttft_p50_s"),
        ("ttft_s", "count", "ttft_count"),
        ("output_tokens", "p999", "output_tokens_p999"),
        ("e2e_from_intended_s", "mean", "e2e_from_intended_mean_s"),
        ("ttft_s", "p50_low", "ttft_p50_low_s"),
        ("ttft_s", "effective_count", "ttft_effective_count"),
    ],
)
def test_the_unit_stays_last(name: str, part: str, flat: str) -> None:
    assert flat_name(name, part) == flat


@pytest.mark.parametrize(
    ("rate", "end", "flat"),
    [
        ("achieved_rps", "low", "achieved_low_rps"),
        ("requests_per_s", "high", "requests_high_per_s"),
        ("output_tokens_per_s", "low", "output_tokens_low_per_s"),
        ("slo_attainment", "high", "slo_attainment_high"),
    ],
)
def test_the_unit_of_a_rate_stays_last_too(rate: Rate, end: str, flat: str) -> None:
    assert flat_end(rate, end) == flat


def test_intervals_are_tracked_where_there_are_any(record: MakeRecord, log: MakeLog) -> None:
    records = [record(index, intended_ms=200 * index, chunks_ms=(50 + index % 7, 70)) for index in range(50)]
    one = summarise(log(records), FACTS, slo=Slo(ttft_s=1.0))
    flat = flatten(one)
    interval = one.ttft_s.intervals["p50"]
    assert (flat["ttft_p50_low_s"], flat["ttft_p50_high_s"]) == (interval.low, interval.high)
    assert flat["ttft_effective_count"] == one.ttft_s.effective_count
    assert flat["slo_attainment_low"] == one.rate_intervals["slo_attainment"].low
    assert "ttft_p99_low_s" not in flat


def test_the_measurements_names_and_types_are_those_published() -> None:
    golden = json.loads((REPOSITORY / "tests" / "golden" / "measurement_schema.json").read_text(encoding="utf-8"))
    assert _without_prose(measurement_schema()) == golden


def _without_prose(schema: Any) -> Any:
    """Leave names, types and requirements, since wording may change without a new version."""
    if isinstance(schema, list):
        return [_without_prose(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    prose = {key for key in ("description", "title") if isinstance(schema.get(key), str)}
    return {key: _without_prose(value) for key, value in schema.items() if key not in prose}
