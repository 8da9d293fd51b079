"""Measures speeds and errors of this checkout on this machine and writes them as one JSON object.

Not part of the tests: figures here are read by people, since speeds on a shared machine are noisy.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.bench.intervals import interval_coverage
from tests.bench.overhead import trial_overhead
from tests.bench.ruler import ruler_errors
from tests.bench.scale_out import scale_out
from tests.bench.startup import replay_startup
from tests.bench.traffic_profile import traffic_profile
from tests.bench.traffic_synthesis import traffic_synthesis
from tests.bench.verdicts import ruler_verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            **ruler_errors(),
            **ruler_verdicts(),
            **scale_out(),
            **replay_startup(),
            **interval_coverage(),
            **trial_overhead(Path(folder)),
            **traffic_profile(Path(folder)),
            **traffic_synthesis(),
        }
    text = json.dumps(figures, indent=2, allow_nan=False)
    out.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
