"""What one event of an OpenAI stream says, read by plain JSON. The reference that every faster path must equal."""

import json
from typing import Any, NamedTuple


class Usage(NamedTuple):
    """The server's own token counts; None where it did not give one."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


class Event(NamedTuple):
    """One event's facts. `tokens` counts its token ids, None where it has none to count."""

    has_answer: bool = False
    has_reasoning: bool = False
    tokens: int | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None

    @property
    def is_output(self) -> bool:
        """Say whether the event carried something that the model wrote; role-only and empty ones did not."""
        return self.has_answer or self.has_reasoning


def read_event(payload: bytes) -> Event:
    """Read the data of one server-sent event.

    Usage is read whether or not there are choices. Answer is non-empty content, text, refusal or tool call.

    Raises:
        ValueError: the data is not one JSON object in UTF-8.
    """
    try:
        body = json.loads(payload.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(body, dict):
        raise ValueError(f"expected a JSON object, seen {type(body).__name__}")  # noqa: TRY004 - it is data, no argument
    choices = [choice for choice in _list(body.get("choices")) if isinstance(choice, dict)]
    deltas = [_delta(choice) for choice in choices]
    return Event(
        has_answer=any(map(_is_answer, deltas)),
        has_reasoning=any(delta.get("reasoning_content") or delta.get("reasoning") for delta in deltas),
        tokens=_count_tokens(choices),
        finish_reason=next((str(one["finish_reason"]) for one in choices if one.get("finish_reason")), None),
        usage=_read_usage(body),
        error=_read_error(body),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _delta(choice: dict[str, Any]) -> dict[str, Any]:
    """Return what a choice adds: its delta (chat), with the text of the completions route beside it."""
    return {**_dict(choice.get("delta")), "text": choice.get("text")}


def _is_answer(delta: dict[str, Any]) -> bool:
    tool_calls = any(_list(delta.get("tool_calls"))) or bool(delta.get("function_call"))
    return tool_calls or bool(delta.get("content") or delta.get("text") or delta.get("refusal"))


def _count_tokens(choices: list[dict[str, Any]]) -> int | None:
    ids = [choice["token_ids"] for choice in choices if isinstance(choice.get("token_ids"), list)]
    return sum(map(len, ids)) if ids else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _read_usage(body: dict[str, Any]) -> Usage | None:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:  # llama.cpp tells it in its own `timings` where the details are left out
        cached = _count(_dict(body.get("timings")).get("cache_n"))
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), cached)


def _read_error(body: dict[str, Any]) -> str | None:
    error = body.get("error")
    if body.get("object") == "error":  # vLLM's older form has no `error` key
        error = error or body
    if not error:
        return None
    message = error.get("message") if isinstance(error, dict) else None
    return str(message or error)
