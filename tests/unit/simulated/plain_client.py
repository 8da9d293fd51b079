"""A plain client from the standard library and a server in a thread: nothing of the project's own measuring path."""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from adapters.simulated import voices
from adapters.simulated.options import Options
from adapters.simulated.script import load
from adapters.simulated.server import listening

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer; `events` are the data of a stream, `[DONE]` included."""

    status: int
    body: bytes

    @property
    def row(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        lines = [line.removeprefix("data: ") for line in self.body.decode().splitlines() if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def texts(self) -> list[str]:
        choices = [choice for event in self.events if event != "[DONE]" for choice in event.get("choices", ())]
        return [choice["text"] if "text" in choice else choice["delta"].get("content", "") for choice in choices]


class Client:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def begin(self, path: str, row: object, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
        self.http.request("POST", path, json.dumps(row), headers or {})
        return self.http.getresponse()

    def post(self, path: str, row: object, headers: dict[str, str] | None = None) -> Answer:
        response = self.begin(path, row, headers)
        return Answer(response.status, response.read())

    def get(self, path: str) -> Answer:
        self.http.request("GET", path)
        response = self.http.getresponse()
        return Answer(response.status, response.read())

    def complete(self, prompt: object = "a b c", max_tokens: int = 3, **row: object) -> Answer:
        return self.post("/v1/completions", {"prompt": prompt, "max_tokens": max_tokens, "stream": True, **row})

    def chat(self, text: str = "a b c", max_tokens: int = 3, **row: object) -> Answer:
        messages = [{"role": "user", "content": text}]
        return self.post(
            "/v1/chat/completions", {"messages": messages, "max_tokens": max_tokens, "stream": True, **row}
        )

    def metrics(self) -> dict[str, float]:
        lines = self.get("/metrics").body.decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


class Served:
    """A server in a thread of this process; its send log is whole once it has stopped."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with listening(self.options, load(self.options), voices.load(self.options)) as server:
            self.port = server.port
            self._listens.set()
            await self._stopped.wait()

    def start(self) -> None:
        self._thread.start()
        assert self._listens.wait(TIMEOUT_S), "the server did not listen"

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(TIMEOUT_S)

    def log(self) -> list[dict[str, Any]]:
        self.stop()
        return [json.loads(line) for line in Path(str(self.options.log)).read_text().splitlines()]


@contextmanager
def serving(log: Path, **flags: object) -> Iterator[Served]:
    """Serve quickly by default: 5 ms to the first token, 2 ms between tokens."""
    served = Served(replace(Options(port=0, ttft_s=0.005, itl_s=0.002, log=str(log)), **flags))
    served.start()
    try:
        yield served
    finally:
        served.stop()
