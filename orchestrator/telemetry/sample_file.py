"""Reads the sampler's JSON lines, also while it still writes, into series and notes."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from orchestrator.domain.telemetry import Series
from orchestrator.telemetry.reading import unit_of

UNKNOWN_UNIT = "unknown"


class SampleFile:
    """One sampler's file; each line is read once."""

    def __init__(self, path: Path, units: Mapping[str, str]) -> None:
        self._path = path
        self._units = units
        self._offset = 0
        self._times_ns: dict[str, list[int]] = {}
        self._values: dict[str, list[float]] = {}
        self._looks: Counter[str] = Counter()
        self._gaps: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self._slow: Counter[str] = Counter()
        self._longest_s: dict[str, float] = {}

    def read(self) -> None:
        """Take in the whole lines that were written since the last time."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._take_in(json.loads(line))

    def series(self) -> tuple[Series, ...]:
        """Return every series, in the order of first appearance, times ascending."""
        return tuple(
            Series(
                name=name,
                unit=self._units.get(name) or unit_of(name) or UNKNOWN_UNIT,
                times_ns=np.array(times_ns, dtype=np.int64),
                values=np.array(self._values[name], dtype=np.float64),
            )
            for name, times_ns in self._times_ns.items()
        )

    def notes(self) -> list[str]:
        """Say how often each source had a gap or took longer than the interval."""
        gaps = [
            f"{source}: {count} of {self._looks[source]} samples are missing, the last since {self._reasons[source]}"
            for source, count in self._gaps.items()
        ]
        slow = [
            f"{source}: {count} of {self._looks[source]} samples took longer than the interval, "
            f"the longest {self._longest_s[source]:.3f} s"
            for source, count in self._slow.items()
        ]
        return gaps + slow

    def _take_in(self, event: Mapping[str, object]) -> None:
        match event:
            case {"from": str(source), "t": int(time_ns), "v": dict(values)}:
                self._looks[source] += 1
                for name, value in values.items():
                    self._times_ns.setdefault(name, []).append(time_ns)
                    self._values.setdefault(name, []).append(value)
            case {"gap": str(source), "reason": str(reason)}:
                self._looks[source] += 1
                self._gaps[source] += 1
                self._reasons[source] = reason
            case {"slow": str(source), "took_s": float(took_s)}:
                self._slow[source] += 1
                self._longest_s[source] = max(took_s, self._longest_s.get(source, 0.0))
