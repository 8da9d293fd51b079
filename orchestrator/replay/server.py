"""What a server says of itself, asked outside the measured window: models, token counts, kind, its cache emptied.

Every question goes through the proxy that is named; without one it goes straight.
"""

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.domain.errors import InputError
from orchestrator.replay.proxy import ProxyError
from orchestrator.replay.question import Answer, ask
from orchestrator.replay.redaction import redact

HTTP_OK = 200

ServerKind = Literal["vllm", "llamacpp", "sglang", "trtllm", "simulated", "other"]
PREFIXES: Mapping[str, ServerKind] = {
    "vllm:": "vllm",
    "llamacpp:": "llamacpp",
    "sglang:": "sglang",
    "trtllm_": "trtllm",
    "simulated_": "simulated",
}
OWNERS: Mapping[str, ServerKind] = {
    "vllm": "vllm",
    "llamacpp": "llamacpp",
    "sglang": "sglang",
    "simulated": "simulated",
}


def served_models(base_url: str, key: str | None = None, *, proxy: str | None = None) -> list[str]:
    """List the names of the models that the server serves.

    Raises:
        InputError: the server does not answer, refuses the key or has no `/v1/models`.
    """
    listing = _models(base_url, key, proxy)
    return [str(model["id"]) for model in listing if "id" in model]


def check_model(base_url: str, model: str, key: str | None = None, *, proxy: str | None = None) -> None:
    """Return when the server serves the model.

    Raises:
        InputError: it serves others, which are listed, or does not answer.
    """
    names = served_models(base_url, key, proxy=proxy)
    if model not in names:
        raise InputError(f"{base_url} serves no model {model!r}; it serves: {', '.join(names) or 'none'}")


def count_tokens(base_url: str, text: str, key: str | None = None, *, proxy: str | None = None) -> int | None:
    """Count a text's tokens as the server would as a prompt, special ones included; None where it offers no count.

    One body serves both forms of `/tokenize`: vLLM reads `prompt`, llama.cpp reads `content`.

    Raises:
        InputError: the server does not answer.
    """
    body = {"prompt": text, "content": text, "add_special_tokens": True, "add_special": True}
    answer = _ask(base_url, "/tokenize", key, body=body, proxy=proxy)
    reply = answer.json() if answer.status == HTTP_OK else None
    if reply is None:
        return None
    count, tokens = reply.get("count"), reply.get("tokens")
    if isinstance(count, int):
        return count
    return len(tokens) if isinstance(tokens, list) else None


def count_tokens_by_usage(
    base_url: str, text: str, model: str, key: str | None = None, *, proxy: str | None = None
) -> int | None:
    """Count a text's tokens by what the server reports for a request of one output token; None where it reports none.

    Raises:
        InputError: the server does not answer.
    """
    body = {"model": model, "prompt": text, "max_tokens": 1}
    answer = _ask(base_url, "/v1/completions", key, body=body, proxy=proxy)
    usage = (answer.json() or {}).get("usage")
    count = usage.get("prompt_tokens") if answer.status == HTTP_OK and isinstance(usage, dict) else None
    return count if isinstance(count, int) else None


def has_metrics(base_url: str, key: str | None = None, *, proxy: str | None = None) -> bool:
    """Say whether the server offers Prometheus metrics.

    Raises:
        InputError: the server does not answer.
    """
    return _ask(base_url, "/metrics", key, proxy=proxy).status == HTTP_OK


def reset_cache(base_url: str, path: str, key: str | None = None, *, proxy: str | None = None) -> None:
    """Empty the server's prefix cache by POST to the path that its adapter names.

    Raises:
        InputError: the server does not answer or refuses.
    """
    answer = _ask(base_url, path, key, body={}, proxy=proxy)
    if answer.status != HTTP_OK:
        raise InputError(f"POST {base_url}{path}: expected 200, seen {answer.status}; is the route switched on?")


def server_kind(base_url: str, key: str | None = None, *, proxy: str | None = None) -> ServerKind:
    """Guess which engine answers: by its `Server` header, who owns its models, the prefix of its metrics.

    Raises:
        InputError: the server does not answer.
    """
    answer = _ask(base_url, "/v1/models", key, proxy=proxy)
    if "llama.cpp" in answer.headers.get("server", ""):
        return "llamacpp"
    listing = (answer.json() or {}).get("data")
    owners = {str(one.get("owned_by")) for one in listing if isinstance(one, dict)} if isinstance(listing, list) else {}
    known = [kind for owner, kind in OWNERS.items() if owner in owners]
    return known[0] if known else _kind_by_metrics(base_url, key, proxy)


def _kind_by_metrics(base_url: str, key: str | None, proxy: str | None) -> ServerKind:
    metrics = _ask(base_url, "/metrics", key, proxy=proxy)
    text = "\n" + metrics.body.decode(errors="replace") if metrics.status == HTTP_OK else ""
    return next((kind for prefix, kind in PREFIXES.items() if f"\n{prefix}" in text), "other")


def _models(base_url: str, key: str | None, proxy: str | None) -> list[dict[str, Any]]:
    answer = _ask(base_url, "/v1/models", key, proxy=proxy)
    if answer.status in {401, 403}:
        raise InputError(f"{base_url} refused the API key ({answer.status}); check the key's environment variable")
    listing = (answer.json() or {}).get("data")
    if answer.status != HTTP_OK or not isinstance(listing, list):
        seen = f"status {answer.status}" if answer.status != HTTP_OK else "another answer"
        asked = f"GET {base_url}/v1/models{'' if proxy is None else ' through the proxy'}"
        raise InputError(f"{asked}: expected a list of models, seen {seen}; is it an OpenAI server?")
    return [one for one in listing if isinstance(one, dict)]


def _ask(base_url: str, path: str, key: str | None, *, body: dict[str, Any] | None = None, proxy: str | None) -> Answer:
    try:
        return ask(base_url, path, key, body=body, proxy=proxy)
    except ProxyError as error:
        raise InputError(f"no way to {base_url}: {redact(str(error), key)}; check the proxy's address") from None
    except (OSError, ValueError) as error:
        seen = redact(str(error), key)
        raise InputError(f"{base_url} does not answer ({seen}); is the server up, is the URL right?") from None
