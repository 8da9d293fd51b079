import json
from typing import Any

import pytest
from tokenizers import Tokenizer

from orchestrator.domain.agreement import MAX_TOKENS, TOP_TOKENS, GreedyAnswer
from orchestrator.trials.greedy_answer import read_answer

PROMPT = "The capital of France is"


def read(tokenizer: Tokenizer, text: str, logprobs: object = None, prompt: str = PROMPT, **more: Any) -> GreedyAnswer:
    payload = {"choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "length"}], **more}
    return read_answer(json.dumps(payload).encode(), 0, prompt_text=prompt, tokenizer=tokenizer)


def ids_of(tokenizer: Tokenizer, *texts: str) -> list[int]:
    return [id_of(tokenizer, text) for text in texts]


def id_of(tokenizer: Tokenizer, text: str) -> int:
    (found,) = tokenizer.encode(text).ids
    return int(found)


def test_an_answer_is_read_as_tokens_behind_its_prompt(tokenizer: Tokenizer) -> None:
    answer = read(tokenizer, " Paris.", usage={"prompt_tokens": 5})
    assert answer.tokens == (" Paris", ".")
    assert list(answer.ids) == ids_of(tokenizer, " Paris", ".")
    assert (answer.top, answer.prompt_tokens) == (None, 5)


def test_an_answer_that_melts_into_its_prompt_is_read_alone(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode(" Paris").ids != [*tokenizer.encode(" Par").ids, *tokenizer.encode("is").ids]
    assert read(tokenizer, "is.", prompt="France is Par").tokens == ("is", ".")


def test_half_a_character_at_the_cut_is_left_out(tokenizer: Tokenizer) -> None:
    assert read(tokenizer, " Paris\ufffd").tokens == (" Paris",)


def test_a_part_of_a_character_is_spelled_as_in_the_vocabulary(tokenizer: Tokenizer) -> None:
    assert read(tokenizer, "é").tokens == ("Ã", "©")


def test_no_more_tokens_are_kept_than_are_asked_for(tokenizer: Tokenizer) -> None:
    assert len(read(tokenizer, " Paris." * MAX_TOKENS).ids) == MAX_TOKENS


def test_the_routes_own_probabilities_are_read_by_text(tokenizer: Tokenizer) -> None:
    told = {
        "tokens": [" Paris", "."],
        "top_logprobs": [{" Paris": -0.2614, " The": -2.8, " of": -3.1, " is": -4.0}, {".": -0.5}],
    }
    answer = read(tokenizer, " Paris.", told)
    paris, the, of = ids_of(tokenizer, " Paris", " The", " of")
    assert answer.top == ({paris: -0.26, the: -2.8, of: -3.1}, {id_of(tokenizer, "."): -0.5})
    assert len(answer.top[0]) == TOP_TOKENS


def test_tokens_spelled_by_their_ids_are_read(tokenizer: Tokenizer) -> None:
    paris, the = ids_of(tokenizer, " Paris", " The")
    told = {"tokens": [f"token_id:{paris}"], "top_logprobs": [{f"token_id:{paris}": -0.5, f"token_id:{the}": -1.0}]}
    assert read(tokenizer, " Paris", told).top == ({paris: -0.5, the: -1.0},)


def test_the_chat_routes_form_is_read_too(tokenizer: Tokenizer) -> None:
    paris, end = id_of(tokenizer, " Paris"), id_of(tokenizer, "<end>")
    first = {"id": paris, "token": " Paris", "logprob": -0.1, "bytes": [32]}
    second = {"id": end, "token": "", "logprob": -2.5, "bytes": []}
    told = {"content": [{**first, "top_logprobs": [first, second]}]}
    assert read(tokenizer, " Paris", told).top == ({paris: -0.1, end: -2.5},)


def test_the_token_that_ended_the_answer_keeps_its_probabilities(tokenizer: Tokenizer) -> None:
    end = id_of(tokenizer, "<end>")
    told = {"tokens": [" Paris", "<end>"], "top_logprobs": [{" Paris": -0.1}, {"<end>": -0.2}]}
    answer = read(tokenizer, " Paris", told)
    assert answer.tokens == (" Paris",)
    assert answer.top == ({id_of(tokenizer, " Paris"): -0.1}, {end: -0.2})


def test_probabilities_of_other_tokens_than_the_texts_are_dropped(tokenizer: Tokenizer) -> None:
    told = {"tokens": [" Par", "is"], "top_logprobs": [{" Par": -0.1}, {"is": -0.2}]}
    answer = read(tokenizer, " Paris", told)
    assert (answer.tokens, answer.top) == ((" Paris",), None)


def test_fewer_probabilities_than_tokens_are_dropped(tokenizer: Tokenizer) -> None:
    told = {"tokens": [" Paris"], "top_logprobs": [{" Paris": -0.1}]}
    assert read(tokenizer, " Paris.", told).top is None


def test_an_absent_probability_is_no_number(tokenizer: Tokenizer) -> None:
    told = {"tokens": [" Paris"], "top_logprobs": [{" Paris": -0.1, " The": None, " of": -1e400}]}
    assert read(tokenizer, " Paris", told).top == ({id_of(tokenizer, " Paris"): -0.1},)


@pytest.mark.parametrize("payload", [b"data: {}", b"{}", b'{"choices": []}', b'{"choices": [{"text": null}]}'])
def test_what_is_no_completion_is_refused(payload: bytes, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_answer(payload, 0, prompt_text=PROMPT, tokenizer=tokenizer)
