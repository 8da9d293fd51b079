"""A command imports what it needs: what `seatrial replay` does not need would be most of its time."""

import subprocess
import sys

from tests.command_line import ROOT, environment

HEAVY = ("polars", "pyarrow", "pandas", "scipy.stats", "scipy.special", "ray", "mlflow", "matplotlib", "tokenizers")


def test_a_replay_imports_none_of_the_slow_libraries() -> None:
    code = (
        "import sys, orchestrator.cli.app, orchestrator.cli.replay, orchestrator.trials.scraping\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == ""
