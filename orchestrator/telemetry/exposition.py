"""Reads the text of an engine's `/metrics` into canonical names. Fetches nothing.

The sampler imports this, so it stays off everything that is slow to import.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from adapters.protocol import ServerMetric

RATIO = "ratio"
COUNT_UNIT = "observations"


class Target(NamedTuple):
    """What one sample of the text adds to: canonical names of one unit, and the factor into that unit."""

    names: Sequence[str]
    unit: str
    scale: float


def plan_targets(mapping: Mapping[str, "ServerMetric"]) -> dict[str, Target]:
    """Say for each sample name of the text what it becomes.

    A histogram gives `.sum` and `.count`. A counter may be mapped with or without its `_total`.
    """
    targets: dict[str, Target] = {}
    for series, metric in mapping.items():
        names = (metric.name, *metric.adds_to)
        target = Target(names, metric.unit, metric.scale)
        match metric.kind:
            case "histogram":
                targets[f"{series}_sum"] = target._replace(names=[f"{name}.sum" for name in names])
                targets[f"{series}_count"] = Target([f"{name}.count" for name in names], COUNT_UNIT, 1.0)
            case "counter":
                targets[series] = targets[f"{series.removesuffix('_total')}_total"] = target
            case "gauge":
                targets[series] = target
    return targets


def target_units(targets: Mapping[str, Target]) -> dict[str, str]:
    """Return the unit of every canonical name that the targets can give."""
    return {name: target.unit for target in targets.values() for name in target.names}


def parse_exposition(text: str, targets: Mapping[str, Target]) -> dict[str, float]:
    """Return the samples that have a target by canonical name; counters stay counters.

    Label sets of one series are summed (engines with several schedulers), ratios averaged. What the text lacks or gives
    as a value that is not finite is absent.

    Raises:
        ValueError: the text is not in the Prometheus format.
    """
    found: dict[str, list[float]] = {}
    for family in _families(text, targets):
        for sample in family.samples:
            if sample.name in targets and math.isfinite(sample.value):
                target = targets[sample.name]
                for name in target.names:
                    found.setdefault(name, []).append(sample.value * target.scale)
    averaged = {name for target in targets.values() if target.unit == RATIO for name in target.names}
    return {name: sum(values) / (len(values) if name in averaged else 1) for name, values in found.items()}


def _families(text: str, targets: Mapping[str, Target]) -> Iterator["Metric"]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - a planner parses nothing

    # An engine's page may have a thousand lines, most of them histogram buckets: parse only what has a target.
    families = {name.removesuffix(suffix) for name in targets for suffix in ("", "_total", "_sum", "_count")}
    kept = [line for line in text.splitlines() if _name_in(line) in families]
    yield from text_string_to_metric_families("\n".join(kept) + "\n")


def _name_in(line: str) -> str:
    if line.startswith(("# TYPE ", "# HELP ")):
        return line.split(" ", 3)[2]
    return line.partition("{")[0].partition(" ")[0]
