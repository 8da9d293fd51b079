"""The command line in a process of its own, as a person starts it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "orchestrator.cli", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "MLFLOW_TRACKING_URI": "", "COLUMNS": "200"}


def seatrial(*arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a command that ends with this exit code; None takes any."""
    done = subprocess.run(
        command(*arguments), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=240, check=False
    )
    assert code is None or done.returncode == code, done.stderr
    return done
