"""The OpenAI dialect: request bodies read into a `Generation`, replies spelled as JSON and server-sent events. Pure."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.simulated.options import Options, served_models

DEFAULT_MAX_TOKENS = 16
VOCAB_SIZE = 32768
TOOL = "look_up"
NO_VOICES: Mapping[str, Options] = {}
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
Kind = Literal["text_completion", "chat.completion"]
Tokens = tuple[int, ...]


class BadRequestError(ValueError):
    """A request that an OpenAI server would refuse, with the status it would refuse it with."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Generation:
    """One request to generate, whatever route it came by."""

    kind: Kind
    model: str
    request_id: str | None
    prompt: Tokens
    output_tokens: int
    finish_reason: Literal["length", "stop"]
    is_stream: bool
    wants_usage: bool


def tokenize(text: str) -> Tokens:
    """Count one token for each whitespace-separated word; ids are a hash of the word, equal across processes."""
    return tuple(zlib.crc32(word.encode()) % VOCAB_SIZE for word in text.split())


def read_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        BadRequestError: the body is none.
    """
    try:
        parsed = json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"expected a JSON object as body, saw {body[:80]!r}") from error
    if not isinstance(parsed, dict):
        raise BadRequestError(f"expected a JSON object as body, saw {type(parsed).__name__}")
    return parsed


def read_generation(
    body: bytes,
    kind: Kind,
    *,
    request_id: str | None,
    options: Options,
    voices: Mapping[str, Options] = NO_VOICES,
) -> Generation:
    """Read the body of a completion or chat request; a model among `voices` is served by its own options.

    Raises:
        BadRequestError: no JSON object, another model, no prompt, an impossible length.
    """
    row = read_object(body)
    model, served = row.get("model", options.model), (*served_models(options), *voices)
    if model not in served:
        raise BadRequestError(f"the model {model!r} does not exist; this server has {', '.join(served)}", 404)
    options = voices.get(model, options)
    prompt = _prompt(row.get("prompt")) if kind == "text_completion" else _chat_prompt(row.get("messages"))
    asked = row.get("max_completion_tokens") or row.get("max_tokens", DEFAULT_MAX_TOKENS)
    if not isinstance(asked, int) or asked < 1:
        raise BadRequestError(f"max_tokens: expected a whole number of at least 1, saw {asked!r}")
    if len(prompt) + asked > options.max_model_len:
        seen = f"{len(prompt)} prompt tokens and max_tokens {asked}"
        raise BadRequestError(f"maximum context length is {options.max_model_len} tokens, saw {seen}")
    stream_options = row.get("stream_options") or {}
    if not isinstance(stream_options, dict):
        raise BadRequestError(f"stream_options: expected an object, saw {stream_options!r}")
    output_tokens = _output_tokens(asked, options, ignores_eos=bool(row.get("ignore_eos")))
    return Generation(
        kind=kind,
        model=model,
        request_id=request_id or row.get("user"),
        prompt=prompt,
        output_tokens=output_tokens,
        finish_reason="stop" if output_tokens < asked else "length",
        is_stream=bool(row.get("stream")),
        wants_usage=bool(stream_options.get("include_usage")),
    )


def _output_tokens(asked: int, options: Options, *, ignores_eos: bool) -> int:
    if options.reply_tokens is not None:
        return options.reply_tokens
    eos = options.eos_after_tokens
    return asked if ignores_eos or eos is None else max(1, min(asked, eos))


def _prompt(value: object) -> Tokens:
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], int):
        value = value[0]
    if isinstance(value, str):
        return tokenize(value)
    if isinstance(value, list) and value and all(isinstance(token, int) for token in value):
        return tuple(value)
    raise BadRequestError("prompt: expected one text or one list of token ids")


def _chat_prompt(value: object) -> Tokens:
    if not isinstance(value, list) or not value:
        raise BadRequestError("messages: expected a list with at least one message")
    return tokenize(" ".join(_message_text(message) for message in value))


def _message_text(message: object) -> str:
    content = message.get("content", "") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    raise BadRequestError("messages: expected objects with a text content")


def usage(prompt_tokens: int, completion_tokens: int, *, cached_tokens: int) -> dict[str, Any]:
    """Spell the usage object; tokens."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }


def error_body(message: str, status: int) -> dict[str, Any]:
    """Spell the error object."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004 - HTTP's own boundary
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def event(row: dict[str, Any]) -> bytes:
    """Spell one server-sent event."""
    return b"data: " + json.dumps(row, separators=(",", ":")).encode() + b"\n\n"


def _delta(text: str, field: str) -> dict[str, Any]:
    if field != "tool_calls":
        return {field: text}
    return {"tool_calls": [{"index": 0, "type": "function", "function": {"name": TOOL, "arguments": text}}]}


class Speller:
    """Spells one reply's JSON objects."""

    def __init__(self, generation: Generation, reply_id: str, *, created_s: int) -> None:
        self._kind = generation.kind
        self._head = {"id": reply_id, "created": created_s, "model": generation.model}

    def _row(self, *choices: dict[str, Any], is_chunk: bool) -> dict[str, Any]:
        name = f"{self._kind}.chunk" if is_chunk and self._kind == "chat.completion" else self._kind
        return {"object": name, **self._head, "choices": list(choices)}

    def chunk(
        self, text: str, *, finish_reason: str | None, field: str = "content", token_ids: list[int] | None = None
    ) -> dict[str, Any]:
        """Spell one piece of output; `field` names the delta it belongs to and matters in chat only."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish_reason}
        is_chat = self._kind == "chat.completion"
        choice |= {"delta": _delta(text, field)} if is_chat else {"text": text, "logprobs": None}
        choice |= {} if token_ids is None else {"token_ids": token_ids}
        return self._row(choice, is_chunk=True)

    def usage_chunk(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Spell the final chunk: no choices, only usage."""
        return {**self._row(is_chunk=True), "usage": counts}

    def whole(self, text: str, reasoning: str, *, finish_reason: str) -> dict[str, Any]:
        """Spell an answer that is not streamed."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish_reason}
        if self._kind == "chat.completion":
            thought = {"reasoning_content": reasoning} if reasoning else {}
            choice["message"] = {"role": "assistant", "content": text, **thought}
        else:
            choice |= {"text": reasoning + text, "logprobs": None}
        return self._row(choice, is_chunk=False)
