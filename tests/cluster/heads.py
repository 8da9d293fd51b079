"""A Ray head of its own for tests: `ray start --head --block` with its own home, token, folder and ports.

What is asked over and over is asked over HTTP: Ray's own command takes seconds of CPU to start.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.cluster.guard import end
from orchestrator.deploy.ports import free_ports
from orchestrator.deploy.supervisor import descendants

ROOT = Path(__file__).parents[2]
RAY = Path(sys.executable).with_name("ray")
READY_TIMEOUT_S = 90.0
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True)
class Head:
    """A running head: what a client must have in its environment, and where its dashboard takes jobs."""

    environ: dict[str, str]
    address: str
    dashboard: str
    folder: Path

    def ray(self, *arguments: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run Ray's own command as a client of this head."""
        environ = {**self.environ, "RAY_ADDRESS": self.dashboard}
        return subprocess.run(
            [str(RAY), *arguments], env=environ, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def status(self, job: str) -> str:
        """Return what the head says of a submitted job, in Ray's own word."""
        return str(_ask(self.dashboard, f"/api/jobs/{job}", self.folder)["status"])

    def await_end(self, job: str, timeout_s: float = 180.0) -> str:
        """Return how a job ended."""
        give_up_at = time.monotonic() + timeout_s
        while (said := self.status(job)) not in ENDED:
            assert time.monotonic() < give_up_at, self.ray("job", "logs", job).stdout
            time.sleep(0.5)
        return said


@contextmanager
def ray_head(*, cpus: int = 4) -> Iterator[Head]:
    """Start a head with token authentication and end every process of it by its pid."""
    with tempfile.TemporaryDirectory(prefix="head-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # Our own package has set variables for Ray here; a cluster of somebody else's has none of them.
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "TUNE_"))}
        environ |= {"HOME": name, "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
        subprocess.run([str(RAY), "get-auth-token", "--generate"], env=environ, check=True, capture_output=True)
        process, ports = _start(folder, environ, cpus)
        try:
            _await_ready(process, folder, f"http://127.0.0.1:{ports['dashboard']}")
            address = (folder / "ray" / "ray_current_cluster").read_text(encoding="utf-8").strip()
            yield Head(environ, address, f"http://127.0.0.1:{ports['dashboard']}", folder)
        finally:
            left = end(descendants(process.pid), grace_s=5.0)
            process.kill()
            process.wait()
            assert left == []


def _start(folder: Path, environ: dict[str, str], cpus: int) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
    ports = free_ports(["gcs", "dashboard", "client", "agent", "metrics"])
    command = [
        str(RAY), "start", "--head", "--block",
        f"--num-cpus={cpus}",
        f"--temp-dir={folder / 'ray'}",
        f"--port={ports['gcs']}",
        f"--ray-client-server-port={ports['client']}",
        f"--dashboard-agent-listen-port={ports['agent']}",
        f"--metrics-export-port={ports['metrics']}",
        f"--dashboard-port={ports['dashboard']}",
        "--dashboard-host=127.0.0.1",
        "--include-dashboard=true",
        f"--object-store-memory={128 * 2**20}",
    ]  # fmt: skip
    log = (folder / "head.log").open("wb")
    with log:
        return subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=log), ports


def _await_ready(process: subprocess.Popen[bytes], folder: Path, dashboard: str) -> None:
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while not (_lists_jobs(dashboard, folder) and (folder / "ray" / "ray_current_cluster").exists()):
        said = (folder / "head.log").read_text(encoding="utf-8", errors="replace")
        assert process.poll() is None, said
        assert time.monotonic() < give_up_at, said
        time.sleep(0.5)


def _lists_jobs(dashboard: str, folder: Path) -> bool:
    try:
        return isinstance(_ask(dashboard, "/api/jobs/", folder), list)
    except (OSError, http.client.HTTPException, ValueError):
        return False


def _ask(dashboard: str, path: str, home: Path) -> Any:
    token = (home / ".ray" / "auth_token").read_text(encoding="utf-8").strip()
    connection = http.client.HTTPConnection(dashboard.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return json.load(answer) if answer.status == http.HTTPStatus.OK else {}
