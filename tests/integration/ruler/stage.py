"""One scripted server for many runs of the real client: each model that it serves is a script of its own."""

import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.openai import Dialect, Route, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestRecord
from orchestrator.replay import PreparedRequest, Timing, replay_open

ROOT = Path(__file__).resolve().parents[3]
START_LIMIT_S, FLUSH_LIMIT_S = 30.0, 20.0
PROMPT = "one two three four five"
PROMPT_TOKENS = 5
CAPABILITIES = Capabilities(output_length_control="ignore_eos")
DIALECT = Dialect("completions", CAPABILITIES)
Sent = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """A replay's log, and for each of its records the server's own row of it; None where it never came."""

    log: ReplayLog
    sent: dict[int, Sent]

    def pairs(self) -> list[tuple[RequestRecord, Sent]]:
        return [(one, self.sent[one.index]) for one in self.log.records]


@dataclass(slots=True)
class Stage:
    """A running server, its log, and the core that is left to the client."""

    url: str
    log_path: Path
    client_cpus: tuple[int, ...] | None
    _rows: dict[str, Sent] = field(default_factory=dict, repr=False)
    _read_bytes: int = field(default=0, repr=False)

    def play(
        self,
        voices: Sequence[str],
        *,
        offsets_ns: Sequence[int] | None = None,
        gap_s: float = 0.02,
        max_tokens: int = 6,
        route: Route = "completions",
        capabilities: Capabilities = CAPABILITIES,
        timeout_s: float = 10.0,
        key: str | None = None,
    ) -> Run:
        """Ask one request of each voice in turn, `gap_s` apart or at the given times, and wait for all of them."""
        dialect = Dialect(route, capabilities)
        times = [round(at * gap_s * 1e9) for at in range(len(voices))] if offsets_ns is None else offsets_ns
        requests = [
            PreparedRequest(index, at, self.body(voice, dialect, max_tokens), PROMPT_TOKENS, max_tokens)
            for index, (voice, at) in enumerate(zip(voices, times, strict=True))
        ]
        log = replay_open(
            requests,
            Endpoint(self.url, voices[0], key=key),
            load=OpenLoad(rate_rps=1 / gap_s),
            timing=Timing(warmup_s=0, measure_s=times[-1] / 1e9 + 0.02, drain_s=20, request_timeout_s=timeout_s),
            dialect=dialect,
            cpus=self.client_cpus,
        )
        return Run(log, self._sent(log))

    @staticmethod
    def body(voice: str, dialect: Dialect = DIALECT, max_tokens: int = 6) -> bytes:
        return encode_request(PROMPT, voice, dialect=dialect, max_tokens=max_tokens)

    def _sent(self, log: ReplayLog) -> dict[int, Sent]:
        """Return the server's rows of a replay; it writes a row when the request has ended, ten times a second."""
        names = {f"{log.notes['request_id_prefix']}-{one.index}": one.index for one in log.records}
        deadline = time.monotonic() + FLUSH_LIMIT_S
        while names.keys() - self._rows.keys() and time.monotonic() < deadline:
            time.sleep(0.05)
            self._take()
        assert names.keys() <= self._rows.keys(), "the server has no row of some requests"
        return {index: self._rows[name] for name, index in names.items()}

    def _take(self) -> None:
        with self.log_path.open("rb") as file:
            file.seek(self._read_bytes)
            whole = file.read().rpartition(b"\n")[0]
        self._read_bytes += len(whole) + bool(whole)
        self._rows |= {row["request_id"]: row for row in map(json.loads, whole.splitlines())}


@contextmanager
def staged(voices: Mapping[str, object], folder: Path) -> Iterator[Stage]:
    """Serve these voices, the server on the last core and the client on the first, where there are two."""
    script, log_path = folder / "voices.json", folder / "sent.jsonl"
    script.write_text(json.dumps(voices), encoding="utf-8")
    argv = [sys.executable, "-m", "adapters.simulated.server", "--port", "0", "--log", str(log_path)]
    process = subprocess.Popen([*argv, "--voices", str(script)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) > 1:
            os.sched_setaffinity(process.pid, cpus[-1:])
        found = re.search(r":(\d+) with", _first_line(process))
        assert found is not None
        yield Stage(f"http://127.0.0.1:{found.group(1)}", log_path, (cpus[0],) if len(cpus) > 1 else None)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.stdout is not None
        process.stdout.close()


def _first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        assert selector.select(START_LIMIT_S), "the simulated engine did not start"
    return process.stdout.readline()
