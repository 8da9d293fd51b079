"""What a trial costs beyond its engine's start and its replays: a sweep of the simulated engine through Ray."""

import statistics
import subprocess
import sys
from pathlib import Path

import yaml

from orchestrator.studies.reading import parse_study
from orchestrator.tracking.journal import list_studies
from orchestrator.tracking.store import open_store
from orchestrator.tracking.study import read_study

STUDY = {
    "name": "overhead",
    "model": {"name": "none", "variant": "none"},
    "engines": [{"name": "simulated", "search": {"max_running": [1, 2, 4, 8, 16, 32]}}],
    "workload": {"source": {"kind": "fixed", "input_tokens": 16, "output_tokens": 8}, "content": "english"},
    "load": {"rates_rps": [5, 10]},
    "window": {"warmup_s": 0.5, "measure_s": 2, "drain_s": 3},
    "slo": {"ttft_s": 1},
    "budget": {"trials": 6},
    "search": {"prune": False},
}


def trial_overhead(folder: Path) -> dict[str, float]:
    """Return `trial_overhead_s`, the median over trials, and its parts' spread."""
    parse_study(STUDY, "bench")
    study, store = folder / "overhead.yaml", folder / "store"
    study.write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    command = [sys.executable, "-m", "orchestrator.cli", "run", str(study), "--store", str(store), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    place = open_store(str(store))
    record = read_study(place, list_studies(place)[0])
    overheads = [one.times.overhead_s for one in record.trials if one.times is not None]
    return {
        "trial_overhead_s": statistics.median(overheads),
        "trial_overhead_max_s": max(overheads),
        "trial_overhead_num_trials": len(overheads),
    }
