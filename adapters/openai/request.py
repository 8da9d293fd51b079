"""Bodies of the OpenAI dialect's streaming requests. Knows no headers: ids and keys travel outside the body."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.openai.dialect import Dialect

Messages = Sequence[Mapping[str, Any]]
Prompt = str | Sequence[int] | Messages
NO_END_TOKEN = json.dumps({"eos_token_id": -1})
TEXT = "text"


def encode_request(
    prompt: Prompt,
    model: str,
    *,
    dialect: Dialect,
    max_tokens: int | None,
    seed: int = 0,
    forces_length: bool = True,
) -> bytes:
    """Encode one streaming request as JSON bytes.

    `prompt` is text, token ids (route completions only) or chat messages (route chat only); text on the chat route
    becomes one user message. The output length is forced where the server can be told to: `ignore_eos`, `min_tokens`
    equal to `max_tokens` (vLLM's and llama.cpp's extensions of the dialect), or a `generation_config` without an end
    token (that of `transformers serve`; JSON in a string, in place of the model's own). Without `forces_length` no such
    field is sent and `max_tokens` is an upper bound. Temperature is 0, so that equal requests have equal answers;
    `max_tokens` None leaves the length to the model.

    Raises:
        ValueError: the prompt's form does not belong to the route, the server takes no token ids, or a message holds
            anything but text.
    """
    body: dict[str, Any] = {"model": model, **_prompt_field(prompt, dialect), "stream": True}
    body |= {"temperature": 0, "seed": seed}
    if dialect.capabilities.usage_in_stream:
        body["stream_options"] = {"include_usage": True}
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
        body |= _length_control(max_tokens, dialect) if forces_length else {}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _prompt_field(prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    if isinstance(prompt, str):
        return {"prompt": prompt} if dialect.route == "completions" else {"messages": [_user_message(prompt)]}
    messages = [_text_message(part, index) for index, part in enumerate(prompt, 1) if isinstance(part, Mapping)]
    token_ids = [int(part) for part in prompt if not isinstance(part, Mapping)]
    if messages and dialect.route != "chat":
        raise ValueError("chat messages belong to the chat route; seen route completions: pass text or token ids")
    if token_ids and not dialect.takes_token_ids:
        raise ValueError(f"route {dialect.route} of this server takes no token ids; pass the prompt as text")
    return {"messages": messages} if messages else {"prompt": token_ids}


def _text_message(message: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return a message whose content is text, whole or in parts."""
    content = message.get("content")
    for part in content if isinstance(content, list | tuple) else ():
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        if kind != TEXT:
            raise ValueError(f"message {index}: content of type {kind}; only text is sent, leave the request out")
    return dict(message)


def _user_message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _length_control(max_tokens: int, dialect: Dialect) -> dict[str, Any]:
    match dialect.capabilities.output_length_control:
        case "ignore_eos":
            return {"ignore_eos": True}
        case "min_tokens":
            return {"min_tokens": max_tokens}
        case "generation_config":
            return {"generation_config": NO_END_TOKEN}
        case None:
            return {}
