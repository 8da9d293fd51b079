"""What a profile of a large Azure-2024 file takes, beside what pandas takes to read it and parse its times.

Each is measured in a process of its own, so that memory and imports of one do not count for the other.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from workloads.profile.whole import profile_trace
from workloads.readers import read_trace

NUM_ROWS = 27_000_000
SPAN_S = 7 * 86_400
START_US = 1_715_299_200_000_000  # 2024-05-10
CHUNK_ROWS = 1_000_000
US_PER_S = 1_000_000
BYTES_PER_KIB = 1024
TIME_FORMAT = "%Y-%m-%d %H:%M:%S%.6f+00:00"
MAX_INPUT, MAX_OUTPUT = 16_384, 4_096


def traffic_profile(folder: Path, num_rows: int = NUM_ROWS) -> dict[str, float]:
    """Return `pandas_read_27m_s`, `profile_27m_s` (its reading alone: `read_27m_s`) and `profile_peak_bytes`."""
    trace = folder / "azure2024.csv"
    write_azure2024(trace, num_rows)
    pandas, ours = _in_a_child("pandas", trace), _in_a_child("profile", trace)
    return {
        "pandas_read_27m_s": pandas["wall_s"],
        "profile_27m_s": ours["wall_s"],
        "read_27m_s": ours["read_s"],
        "profile_peak_bytes": ours["peak_bytes"],
        "profile_num_rows": num_rows,
    }


def write_azure2024(path: Path, num_rows: int, seed: int = 0) -> None:
    """Write a file in the format of Azure's 2024 traces: a week, a daily cycle, times without a fraction among them."""
    rng, last_us = np.random.default_rng(seed), 0
    gap_us = SPAN_S * US_PER_S / num_rows
    with path.open("wb") as file:
        for start in range(0, num_rows, CHUNK_ROWS):
            count = min(CHUNK_ROWS, num_rows - start)
            swing = 1 + 0.6 * np.sin(2 * np.pi * last_us / (86_400 * US_PER_S))
            stamps = last_us + np.cumsum(rng.exponential(gap_us * swing, count)).astype(np.int64)
            last_us = int(stamps[-1])
            file.write(_rows(stamps, rng, has_header=start == 0))


def _rows(stamps_us: np.ndarray, rng: np.random.Generator, *, has_header: bool) -> bytes:
    lengths = {
        "ContextTokens": rng.lognormal(7.0, 1.1, len(stamps_us)).astype(np.int64).clip(1, MAX_INPUT),
        "GeneratedTokens": rng.lognormal(4.6, 1.0, len(stamps_us)).astype(np.int64).clip(1, MAX_OUTPUT),
    }
    frame = pl.DataFrame({"TIMESTAMP": pl.Series(stamps_us + START_US).cast(pl.Datetime("us")), **lengths})
    text = frame.write_csv(include_header=has_header, datetime_format=TIME_FORMAT)
    return text.encode().replace(b".000000+", b"+")


def _in_a_child(what: str, trace: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.traffic_profile", what, str(trace)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return figures


def _read_with_pandas(trace: Path) -> dict[str, float]:
    frame = pd.read_csv(trace)
    frame["TIMESTAMP"] = pd.to_datetime(frame["TIMESTAMP"], format="ISO8601")
    return {"num_rows": len(frame)}


def _profile(trace: Path) -> dict[str, float]:
    began = time.perf_counter()
    read = read_trace(trace)
    read_s = time.perf_counter() - began
    return {"num_rows": profile_trace(read).num_requests, "read_s": read_s}


def _read(trace: Path) -> dict[str, float]:
    return {"num_rows": len(read_trace(trace))}


def _measure(work: Callable[[Path], dict[str, float]], trace: Path) -> dict[str, float]:
    began = time.perf_counter()
    figures = work(trace)
    wall_s = time.perf_counter() - began
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**figures, "wall_s": wall_s, "peak_bytes": peak_kib * BYTES_PER_KIB}


if __name__ == "__main__":
    works = {"pandas": _read_with_pandas, "profile": _profile, "read": _read}
    sys.stdout.write(json.dumps(_measure(works[sys.argv[1]], Path(sys.argv[2]))) + "\n")
