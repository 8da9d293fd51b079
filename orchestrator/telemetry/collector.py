"""The owner's end of telemetry: starts the sampler, reads what it has so far, ends it."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from adapters.protocol import ServerMetric
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.telemetry import Telemetry
from orchestrator.telemetry.exposition import plan_targets, target_units
from orchestrator.telemetry.order import Order
from orchestrator.telemetry.sample_file import SampleFile

NS_PER_S = 1_000_000_000
DEFAULT_HZ = 5.0
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
SAMPLES_NAME = "telemetry.jsonl"
LOG_NAME = "telemetry.log"
SAMPLER = "orchestrator.telemetry.sampler"


class Collector:
    """Samples one deployment from `start` to `stop`, `hz` times a second, in a process of its own.

    `root_pid` is the engine's first process, None where it runs elsewhere; `devices` are the NVML indices that the
    engine uses, None for all of the machine; `cpus` pins the sampler. Also a context manager.
    """

    def __init__(
        self,
        *,
        metrics_url: str | None,
        server_metrics: Mapping[str, ServerMetric],
        root_pid: int | None,
        folder: Path,
        hz: float = DEFAULT_HZ,
        cpus: Sequence[int] | None = None,
        devices: Sequence[int] | None = None,
    ) -> None:
        targets = plan_targets(server_metrics)
        self._interval_s = 1 / hz
        self._folder = folder
        self._order = Order(
            path=str(folder / SAMPLES_NAME),
            interval_ns=round(NS_PER_S / hz),
            metrics_url=metrics_url,
            targets={sample: list(target) for sample, target in targets.items()},
            root_pid=root_pid,
            devices=None if devices is None else list(devices),
            cpus=None if cpus is None else list(cpus),
        )
        self._samples = SampleFile(folder / SAMPLES_NAME, target_units(targets))
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._early_end: int | None = None

    def start(self) -> None:
        """Start the sampler and return at once."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = self._spawn()

    def await_ready(self) -> None:
        """Return once every source was looked at.

        Raises:
            MeasurementRefusedError: the sampler was not started, or does not start; with what it said.
        """
        if self._is_ready:
            return
        process = self._process
        if process is None:
            raise MeasurementRefusedError("the telemetry sampler was not started; call start() first")
        if not _says_ready(process):
            self._process = None
            _end(process)
            said = (self._folder / LOG_NAME).read_text(encoding="utf-8", errors="replace").strip()
            raise MeasurementRefusedError(f"expected the telemetry sampler to be ready, seen: {said or 'nothing'}")
        self._is_ready = True

    def snapshot(self) -> Telemetry:
        """Return everything sampled so far; sampling goes on."""
        if self._process is not None:
            self._early_end = self._process.poll()
        self._samples.read()
        return Telemetry(self._samples.series(), self._interval_s, tuple(self._notes()))

    def stop(self) -> Telemetry:
        """End sampling and return everything sampled. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            self._early_end = process.poll()
            _end(process)
        return self.snapshot()

    def __enter__(self) -> Self:
        self.start()
        self.await_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", SAMPLER]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with (self._folder / LOG_NAME).open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own program by our own interpreter
                command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        if process.stdin is not None:
            process.stdin.write(json.dumps(self._order._asdict()).encode() + b"\n")
            process.stdin.flush()
        return process

    def _notes(self) -> list[str]:
        notes = self._samples.notes()
        if self._order.metrics_url is None:
            notes.append("engine /metrics: the engine has none, so only its processes were sampled")
        if self._order.root_pid is None:
            notes.append("process tree: the engine runs elsewhere, so its processes were not sampled")
        if self._early_end is not None:
            notes.append(f"the sampler ended early with exit status {self._early_end}; later samples are missing")
        return notes


def _says_ready(process: subprocess.Popen[bytes]) -> bool:
    if process.stdout is None:
        return False
    readable, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
    return bool(readable) and bool(process.stdout.readline())


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
