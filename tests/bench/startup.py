"""How long ten requests take from exec to exit: the whole of `seatrial replay`, as a person waits for it."""

import re
import statistics
import subprocess
import sys
import time

from tests.command_line import ROOT, command, environment

REPEATS = 5
RATE_RPS = 50
ARGUMENTS = ("--input-tokens", "64", "--output-tokens", "16", "--rate", str(RATE_RPS), "--requests", "10", "--json")


def replay_startup(*, repeats: int = REPEATS) -> dict[str, float]:
    """Replay ten requests at 50/s against a server that answers in 0.1 s; the median and the longest of some runs."""
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--ttft-s", "0.02", "--itl-s", "0.005"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = _url_of(server)
            _replay(url)  # compiles what was never imported
            took_s = sorted(_replay(url) for _ in range(repeats))
        finally:
            server.terminate()
    return {"replay_ten_requests_s": statistics.median(took_s), "replay_ten_requests_max_s": took_s[-1]}


def _url_of(server: subprocess.Popen[str]) -> str:
    found = re.search(r":(\d+) with", server.stdout.readline()) if server.stdout is not None else None
    if found is None:
        raise RuntimeError("the simulated server did not say where it listens")
    return f"http://127.0.0.1:{found.group(1)}"


def _replay(url: str) -> float:
    """Run the command once and return the seconds from exec to exit.

    Raises:
        subprocess.CalledProcessError: it did not end well, so its time means nothing.
    """
    began_s = time.monotonic()
    subprocess.run(
        command("replay", "--url", url, *ARGUMENTS), cwd=ROOT, env=environment(), capture_output=True, check=True
    )
    return time.monotonic() - began_s
