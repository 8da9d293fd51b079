"""One generation in flight: sends each chunk at its due time, fails where it was told to, records what it sent."""

import json
import time
from typing import Any

from adapters.simulated.connection import Connection
from adapters.simulated.dialect import DONE, KEEP_ALIVE, Generation, Speller, error_body, event, usage
from adapters.simulated.due import Entry
from adapters.simulated.engine import Engine
from adapters.simulated.options import Options
from adapters.simulated.script import NS_PER_S, Chunk, Pacing, chunks
from adapters.simulated.send_log import Outcome, SendRecord

INJECTED = "simulated failure"
HANGS = ("hang_before_headers", "hang_after_headers")


class Reply:
    """Answers one request over one connection."""

    def __init__(
        self,
        generation: Generation,
        pacing: Pacing,
        *,
        options: Options,
        engine: Engine,
        peer: Connection,
        record: SendRecord,
    ) -> None:
        self.record = record
        self._options = options
        self.prompt = generation.prompt
        self._generation = generation
        self._failure = pacing.failure
        self._chunks = chunks(pacing, generation.output_tokens)
        self._next: Chunk = next(self._chunks)
        self._tokens = 0
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._engine = engine
        self._peer = peer
        self._entries: dict[str, Entry] = {}
        name = "cmpl" if generation.kind == "text_completion" else "chatcmpl"
        self._speller = Speller(generation, f"{name}-{record.index}", created_s=int(time.time()))

    def start(self) -> None:
        """Refuse at once, or send the headers and join the queue."""
        if self._failure is not None and self._failure.kind == "status":
            after_s = self._failure.retry_after_s
            more = "" if after_s is None else f"retry-after: {after_s}\r\n"
            self._peer.respond_json(self._failure.status, error_body(INJECTED, self._failure.status), more=more)
            self._leave("status")
            return
        self._peer.on_lost = self._abandon
        if self._generation.is_stream and not self._hangs("hang_before_headers"):
            self._peer.start_stream()
        self._engine.submit(self)

    def _hangs(self, kind: str) -> bool:
        return self._failure is not None and self._failure.kind == kind

    def admit(self, admitted_ns: int) -> None:
        """Begin to run; times count from `admitted_ns`."""
        if self._hangs("hang_before_headers"):
            return
        options = self._options
        if self._generation.is_stream and options.first_chunk != "none":
            field, text = ("role", "assistant") if options.first_chunk == "role" else ("content", "")
            is_chat = self._generation.kind == "chat.completion"
            row = self._speller.chunk(text if is_chat else "", finish_reason=None, field=field)
            self._send(row, admitted_ns, tokens=0)
        if self._generation.is_stream and options.keepalive_s is not None:
            self._keep_alive(admitted_ns)
        self._schedule(admitted_ns)

    def _keep_alive(self, from_ns: int) -> None:
        due_ns = from_ns + round((self._options.keepalive_s or 0.0) * NS_PER_S)

        def comment() -> None:
            self._peer.send(KEEP_ALIVE)
            self._keep_alive(due_ns)

        self._entries["keepalive"] = self._engine.due.call_at(due_ns, comment)

    def _schedule(self, from_ns: int) -> None:
        due_ns = from_ns + self._engine.slowed_ns(self._next.gap_ns)
        self._entries["chunk"] = self._engine.due.call_at(due_ns, lambda: self._step(due_ns))

    def _step(self, due_ns: int) -> None:
        chunk = self._next
        if self._failure is not None and self._tokens >= self._failure.after_tokens:
            self._fail()
            return
        if self._generation.is_stream:
            self._send(self._spell(chunk), due_ns, tokens=chunk.tokens)
        else:
            self._keep(chunk)
        self._count(chunk)
        if not chunk.is_last:
            self._next = next(self._chunks)
            self._schedule(due_ns)
        elif self._generation.is_stream:
            self._end_stream()
        else:
            self._answer_whole(due_ns)

    def _count(self, chunk: Chunk) -> None:
        if self._tokens == 0 and chunk.tokens:
            self._engine.observe_ttft((time.monotonic_ns() - self.record.received_ns) / NS_PER_S)
        self._tokens += chunk.tokens
        self._engine.count_sent(chunk.tokens)

    def _is_reasoning(self, chunk: Chunk) -> bool:
        begun = self._tokens + chunk.tokens
        return self._generation.kind == "chat.completion" and begun <= self._options.reasoning_tokens

    def _field(self, chunk: Chunk) -> str:
        if self._is_reasoning(chunk):
            return "reasoning_content"
        left = self._generation.output_tokens - self._tokens - chunk.tokens
        return "tool_calls" if left < self._options.tool_call_tokens else "content"

    def _spell(self, chunk: Chunk) -> dict[str, Any]:
        ids = None
        if self._options.output_ids == "each_chunk":
            ids = list(range(self._tokens, self._tokens + chunk.tokens))
        row = self._speller.chunk(
            chunk.text,
            finish_reason=self._generation.finish_reason if chunk.is_last else None,
            field=self._field(chunk),
            token_ids=ids,
        )
        if self._carries_usage(chunk):
            row["usage"] = self._usage(self._tokens + chunk.tokens)
        return row

    def _carries_usage(self, chunk: Chunk) -> bool:
        """Say whether a chunk tells the count of tokens so far; on the last one that is all of them."""
        match self._options.usage:
            case "each_chunk":
                return True
            case "with_first":
                return self._tokens == 0
            case "with_last":
                return chunk.is_last
            case _:
                return False

    def _keep(self, chunk: Chunk) -> None:
        (self._reasoning if self._is_reasoning(chunk) else self._texts).append(chunk.text)

    def _send(self, row: dict[str, Any], due_ns: int, *, tokens: int) -> None:
        data = event(row)
        self._note(due_ns, tokens)
        self._peer.send(data)

    def _note(self, due_ns: int, tokens: int) -> None:
        self.record.due_ns.append(due_ns)
        self.record.chunk_tokens.append(tokens)
        self.record.sent_ns.append(time.monotonic_ns())

    def _usage(self, output_tokens: int) -> dict[str, Any]:
        return usage(self.record.input_tokens, output_tokens, cached_tokens=self.record.cached_tokens)

    def _end_stream(self) -> None:
        mode = self._options.usage
        if mode == "always" or (mode == "on_request" and self._generation.wants_usage):
            self._peer.send(event(self._speller.usage_chunk(self._usage(self._tokens))))
        self._peer.send(DONE)
        self._peer.end_stream()
        self._leave("completed")

    def _whole(self) -> dict[str, Any]:
        row = self._speller.whole(
            "".join(self._texts), "".join(self._reasoning), finish_reason=self._generation.finish_reason
        )
        return row if self._options.usage == "never" else row | {"usage": self._usage(self._tokens)}

    def _answer_whole(self, due_ns: int) -> None:
        body = json.dumps(self._whole()).encode()
        self._note(due_ns, self._tokens)
        self._peer.respond(200, body)
        self._leave("completed")

    def _fail(self) -> None:
        """Fail as told; a hang keeps its place until the client leaves."""
        assert self._failure is not None  # noqa: S101 - only called where there is one
        if self._failure.kind in HANGS:
            if not self._generation.is_stream:
                self._peer.start(len(json.dumps(self._whole())))
            self._forget("keepalive")
        elif self._failure.kind == "cut":
            self._cut()
        else:
            self._send_error()

    def _cut(self) -> None:
        if not self._generation.is_stream:
            self._peer.start(len(json.dumps(self._whole())))
        self._peer.close()
        self._leave("cut")

    def _send_error(self) -> None:
        row = error_body(INJECTED, 500)
        if self._generation.is_stream:
            self._peer.send(event(row))
            self._peer.send(DONE)
            self._peer.end_stream()
        else:
            self._peer.respond_json(200, row)
        self._leave("stream_error")

    def _forget(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            entry.cancel()

    def _abandon(self) -> None:
        self._leave("client_gone")

    def _leave(self, outcome: Outcome) -> None:
        self._forget("chunk")
        self._forget("keepalive")
        self.record.outcome = outcome
        self._engine.leave(self)
