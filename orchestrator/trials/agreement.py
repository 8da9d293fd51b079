"""Asks a running engine for its greedy answers to the fixed prompts, before anything is measured. Judges nothing."""

import http.client
import json
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tokenizers import Tokenizer

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities
from orchestrator.domain.agreement import GREEDY, GREEDY_ERROR, MAX_TOKENS, PROMPTS, GreedyAnswer, to_text
from orchestrator.domain.endpoint import Endpoint
from orchestrator.trials.greedy_answer import read_answer

ANSWER_TIMEOUT_S = 30.0
EXCERPT_CHARS = 300
# The second is vLLM's: tokens by id, since texts of tokens are not unique.
LOG_PROBABILITIES = {"logprobs": 5, "return_tokens_as_token_ids": True}


class NoAnswerError(Exception):
    """The engine does not answer greedily, or not in a way that can be read."""


def greedy_facts(endpoint: Endpoint, capabilities: Capabilities, *, tokenizer: Path | None) -> dict[str, str]:
    """Return the engine's greedy answers as a fact, or the reason why there are none."""
    try:
        return {GREEDY: to_text(ask_greedy(endpoint, capabilities, tokenizer=tokenizer))}
    except NoAnswerError as error:
        return {GREEDY_ERROR: str(error)}


def ask_greedy(endpoint: Endpoint, capabilities: Capabilities, *, tokenizer: Path | None) -> tuple[GreedyAnswer, ...]:
    """Ask for every prompt's answer, one after the other, as text.

    Raises:
        NoAnswerError: the model has no tokenizer, or the engine did not give one of the answers.
    """
    if tokenizer is None:
        raise NoAnswerError("expected the tokenizer of the model to tell an answer's tokens apart; it has none")
    if "completions" not in capabilities.routes:
        raise NoAnswerError(f"expected the route completions, seen {', '.join(capabilities.routes)}")
    dialect = Dialect(capabilities=capabilities)
    known = Tokenizer.from_file(str(tokenizer))
    return tuple(_ask(endpoint, dialect, index, known) for index in range(len(PROMPTS)))


def _ask(endpoint: Endpoint, dialect: Dialect, prompt: int, tokenizer: Tokenizer) -> GreedyAnswer:
    """Ask with log-probabilities, and without where the engine refuses them or answers something else."""
    refusals = []
    for extra in (LOG_PROBABILITIES, {}):
        status, payload = _post(endpoint, dialect.path, _body(endpoint, dialect, prompt, extra))
        if status == http.client.OK:
            try:
                return read_answer(payload, prompt, prompt_text=PROMPTS[prompt], tokenizer=tokenizer)
            except ValueError as error:
                refusals.append(f"an answer that cannot be read: {str(error)[:EXCERPT_CHARS]}")
        else:
            refusals.append(f"{status}: {payload[:EXCERPT_CHARS].decode('utf-8', errors='replace')}")
    raise NoAnswerError(f"expected an answer to {PROMPTS[prompt]!r} from {dialect.path}, seen {refusals[-1]}")


def _body(endpoint: Endpoint, dialect: Dialect, prompt: int, extra: dict[str, Any]) -> bytes:
    """Return the body of a request whose answer comes in one piece.

    Its length is not forced: one engine would then forbid the end token, another take it and go on.
    """
    streamed = encode_request(
        PROMPTS[prompt], endpoint.model, dialect=dialect, max_tokens=MAX_TOKENS, forces_length=False
    )
    body = {key: value for key, value in json.loads(streamed).items() if key != "stream_options"}
    return json.dumps({**body, "stream": False, **extra}).encode()


def _post(endpoint: Endpoint, path: str, body: bytes) -> tuple[int, bytes]:
    address = urlsplit(endpoint.base_url)
    headers = {"Content-Type": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=ANSWER_TIMEOUT_S)
    with closing(connection):
        try:
            connection.request("POST", address.path + path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(f"expected an answer from {path}, seen {type(error).__name__}: {error}") from error
