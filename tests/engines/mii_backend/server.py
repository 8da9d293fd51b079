"""Starts MII as the adapter says, all of it real but the ranks, for tests that speak to its HTTP layer."""

import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.mii.adapter import MiiAdapter
from adapters.mii.config import MiiConfig
from adapters.protocol import LaunchPlan, ModelRef
from orchestrator.deploy.ports import free_ports

RANK = Path(__file__).with_name("rank.py")
KEY = "k3y-of-the-test"
READY_S = 400.0
STOP_S = 30.0
POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class RunningMii:
    """A started server: its process, its log, what it was started with."""

    process: subprocess.Popen[bytes]
    log: Path
    plan: LaunchPlan

    @property
    def facts(self) -> dict[str, Any]:
        """Return what the program said of the engine."""
        return next(line for line in self.lines() if line.get("engine") == "mii")

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's lines of JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def connect(self, timeout_s: float = 30.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.plan.ports["http"], timeout=timeout_s)


def scripted_environment(interpreter: Path, folder: Path) -> Path:
    """Make a second door to the interpreter's environment, whose `deepspeed` starts the scripted rank."""
    real = interpreter.parent.parent
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text((real / "pyvenv.cfg").read_text())
    (folder / "lib").symlink_to(real / "lib", target_is_directory=True)
    python = folder / "bin" / "python"
    python.symlink_to(interpreter.resolve())
    launcher = folder / "bin" / "deepspeed"
    launcher.write_text(f'#!/bin/sh\nexec "{python}" "{RANK}" "$@"\n')
    launcher.chmod(0o755)
    return python


@contextmanager
def running_mii(interpreter: Path, model: ModelRef, log: Path, config: MiiConfig) -> Iterator[RunningMii]:
    """Start the adapter's own plan and stop it at the end, whatever happened in between."""
    adapter = MiiAdapter()
    plan = adapter.launch_plan(config, model, ports=free_ports(adapter.port_names()))
    argv = [str(interpreter), *plan.argv[1:]]
    env = {
        **os.environ,
        **plan.env,
        "PYTHONUNBUFFERED": "1",
        "SEATRIAL_ENGINE_KEY": KEY,
        "TORCH_EXTENSIONS_DIR": f"{log.parent}/kernels",
    }
    with log.open("wb") as file, subprocess.Popen(argv, stdout=file, stderr=file, env=env) as process:
        try:
            yield RunningMii(process, log, plan)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def is_well(server: RunningMii) -> bool:
    """Ask its `/health`."""
    with closing(server.connect()) as connection:
        connection.request("GET", "/health")
        with connection.getresponse() as answer:
            return answer.status == http.client.OK


def await_log(server: RunningMii, words: str) -> None:
    """Wait until the log carries the words."""
    deadline_s = time.monotonic() + READY_S
    while words not in server.log.read_text():
        assert time.monotonic() < deadline_s, f"no {words!r} in the log:\n{server.log.read_text()[-5000:]}"
        assert server.process.poll() is None, f"the engine ended:\n{server.log.read_text()[-5000:]}"
        time.sleep(POLL_S)


def await_http(server: RunningMii) -> None:
    """Wait until its HTTP layer answers."""
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s and server.process.poll() is None:
        try:
            assert is_well(server)
        except ConnectionError:
            time.sleep(POLL_S)
        else:
            return
    raise AssertionError(f"the engine did not start:\n{server.log.read_text()[-5000:]}")


@contextmanager
def asking(
    server: RunningMii, path: str, body: bytes | Mapping[str, object], *, key: str = KEY, timeout_s: float = 30.0
) -> Iterator[http.client.HTTPResponse]:
    """Send one request and give the answer, of which only the head was read."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    with closing(server.connect(timeout_s)) as connection:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)
        with connection.getresponse() as answer:
            yield answer
