"""What tests of whole commands share: a simulated server to talk to."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.command_line import ROOT


@pytest.fixture
def server() -> Iterator[str]:
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--ttft-s", "0.02", "--itl-s", "0.005"]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+) with", process.stdout.readline())
        assert found is not None
        yield f"http://127.0.0.1:{found.group(1)}"
    finally:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
