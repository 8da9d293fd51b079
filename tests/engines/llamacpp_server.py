"""Starts llama.cpp as the adapter says, for tests that speak to the real engine."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from adapters.llamacpp.adapter import LlamaCppAdapter
from adapters.llamacpp.config import LlamaCppConfig
from adapters.protocol import ModelRef

READY_S = 60.0
STOP_S = 20.0


@dataclass(frozen=True, slots=True)
class RunningLlamaCpp:
    """A started server: its address, what it said of itself, its process."""

    url: str
    facts: dict[str, Any]
    process: subprocess.Popen[str]

    def get(self, path: str) -> str:
        with urlopen(f"{self.url}{path}", timeout=READY_S) as answer:  # noqa: S310 - loopback
            text: str = answer.read().decode()
        return text

    def post(self, path: str, body: dict[str, object]) -> dict[str, Any]:
        request = Request(f"{self.url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 - loopback
        with urlopen(request, timeout=READY_S) as answer:  # noqa: S310 - loopback
            found: dict[str, Any] = json.loads(answer.read())
        return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def running_llamacpp(
    model: ModelRef, log: Path, config: LlamaCppConfig | None = None, **environment: str
) -> Iterator[RunningLlamaCpp]:
    """Start the adapter's own plan and stop it at the end, whatever happened in between."""
    port = free_port()
    plan = LlamaCppAdapter().launch_plan(config or LlamaCppConfig(), model, ports={"http": port})
    argv = [sys.executable, *plan.argv[1:]]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **environment}
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"the engine did not start:\n{log.read_text()}"
            yield RunningLlamaCpp(f"http://127.0.0.1:{port}", json.loads(line), process)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def is_listening(url: str) -> bool:
    try:
        urlopen(f"{url}/health", timeout=1)  # noqa: S310 - loopback
    except (URLError, ConnectionError):
        return False
    return True
