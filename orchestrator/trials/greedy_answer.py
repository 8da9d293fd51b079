"""Reads one completion, as engines spell it, into the tokens of a greedy answer. Asks nobody."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import BaseModel, Field
from tokenizers import Tokenizer

from orchestrator.domain.agreement import MAX_TOKENS, TOP_TOKENS, GreedyAnswer

UNDECODABLE = "\ufffd"
TOKEN_ID = "token_id:"  # noqa: S105 - how vLLM spells a token by its id
DECIMALS = 2


class _Alternative(BaseModel):
    id: int | None = None
    token: str
    logprob: float | None


class _Position(_Alternative):
    top_logprobs: list[_Alternative] = []


class _LogProbabilities(BaseModel):
    """`content` is the chat route's form, which llama.cpp has here too; the rest is this route's own."""

    content: list[_Position] | None = None
    tokens: list[str] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Choice(BaseModel):
    text: str
    logprobs: _LogProbabilities | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _Told(NamedTuple):
    """What an engine tells of one position: the token that it took, by id, and the likeliest with their logarithms."""

    taken: int | None
    top: dict[int, float]


def read_answer(payload: bytes, prompt: int, *, prompt_text: str, tokenizer: Tokenizer) -> GreedyAnswer:
    """Read the completion of one prompt.

    Log-probabilities are left out where the engine's own tokens are not those of the text, so that they stand for
    other positions.

    Raises:
        ValueError: it is no completion of the OpenAI dialect.
    """
    completion = _Completion.model_validate_json(payload)
    choice = completion.choices[0]
    ids = _answer_ids(tokenizer, prompt_text, choice.text.rstrip(UNDECODABLE))[:MAX_TOKENS]
    told = _told(choice.logprobs, tokenizer)
    fits = bool(told) and [one.taken for one in told[: len(ids)]] == ids
    return GreedyAnswer(
        prompt=prompt,
        ids=tuple(ids),
        tokens=tuple(_spell(tokenizer, one) for one in ids),
        top=tuple(one.top for one in told[: min(len(ids) + 1, MAX_TOKENS)]) if fits else None,
        prompt_tokens=completion.usage.prompt_tokens if completion.usage else None,
    )


def _answer_ids(tokenizer: Tokenizer, prompt: str, answer: str) -> list[int]:
    """Tokenise an answer behind its prompt; alone, where its first token and the prompt's last one would be one."""
    before = _encode(tokenizer, prompt)
    whole = _encode(tokenizer, prompt + answer)
    is_apart = whole[: len(before)] == before
    return whole[len(before) :] if is_apart else _encode(tokenizer, answer)


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def _spell(tokenizer: Tokenizer, token: int) -> str:
    """Spell a token as text, or as the vocabulary does where it is a part of a character."""
    text = str(tokenizer.decode([token], skip_special_tokens=False))
    return text if text and UNDECODABLE not in text else str(tokenizer.id_to_token(token))


def _told(said: _LogProbabilities | None, tokenizer: Tokenizer) -> list[_Told]:
    if said is None:
        return []
    if said.content is not None:
        return [_told_as_chat(one, tokenizer) for one in said.content]
    tops = said.top_logprobs or []
    taken = [_id_of(one, tokenizer) for one in (said.tokens or [])]
    return [
        _Told(token, _likeliest([(_id_of(text, tokenizer), value) for text, value in (top or {}).items()]))
        for token, top in zip(taken, tops, strict=False)
    ]


def _told_as_chat(position: _Position, tokenizer: Tokenizer) -> _Told:
    def known(one: _Alternative) -> int | None:
        return _id_of(one.token, tokenizer) if one.id is None else one.id

    return _Told(known(position), _likeliest([(known(one), one.logprob) for one in position.top_logprobs]))


def _id_of(text: str, tokenizer: Tokenizer) -> int | None:
    """Return the id of a token that an engine spells as text or as `token_id:N`; None where it is not one token."""
    if text.startswith(TOKEN_ID) and text[len(TOKEN_ID) :].isdigit():
        return int(text[len(TOKEN_ID) :])
    ids = _encode(tokenizer, text)
    return ids[0] if len(ids) == 1 else None


def _likeliest(told: list[tuple[int | None, float | None]]) -> dict[int, float]:
    known: Mapping[int, float] = {
        token: round(value, DECIMALS)
        for token, value in told
        if token is not None and value is not None and math.isfinite(value)
    }
    return dict(sorted(known.items(), key=lambda one: -one[1])[:TOP_TOKENS])
