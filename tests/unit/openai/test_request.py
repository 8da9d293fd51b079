import json
from typing import get_args

import pytest

from adapters.openai import Dialect, encode_request
from adapters.protocol import Capabilities, LengthControl


def sent(prompt: object, dialect: Dialect, **more: object) -> dict:
    return json.loads(encode_request(prompt, "m", dialect=dialect, **{"max_tokens": 8, **more}))


def test_token_ids_go_to_completions_as_they_are() -> None:
    assert sent([5, 6, 7], Dialect(), seed=3) == {
        "model": "m",
        "prompt": [5, 6, 7],
        "stream": True,
        "temperature": 0,
        "seed": 3,
        "stream_options": {"include_usage": True},
        "max_tokens": 8,
    }


def test_text_becomes_a_user_message_on_chat() -> None:
    body = sent("héllo", Dialect("chat"))
    assert body["messages"] == [{"role": "user", "content": "héllo"}]
    assert "prompt" not in body


def test_messages_pass_through_on_chat() -> None:
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    assert sent(messages, Dialect("chat"))["messages"] == messages


@pytest.mark.parametrize(
    ("control", "extra"),
    [
        ("ignore_eos", {"ignore_eos": True}),
        ("min_tokens", {"min_tokens": 8}),
        ("generation_config", {"generation_config": '{"eos_token_id": -1}'}),
        (None, {}),
    ],
)
def test_output_length_is_forced_as_the_server_can(control: str | None, extra: dict) -> None:
    body = sent("x", Dialect(capabilities=Capabilities(output_length_control=control)))
    assert {key: body[key] for key in get_args(LengthControl) if key in body} == extra


def test_no_length_is_forced_where_none_is_asked() -> None:
    body = sent("x", Dialect(capabilities=Capabilities(output_length_control="ignore_eos")), max_tokens=None)
    assert not {"max_tokens", "ignore_eos"} & body.keys()


@pytest.mark.parametrize("control", get_args(LengthControl))
def test_a_natural_stop_sends_the_upper_bound_and_no_length_control(control: str) -> None:
    body = sent("x", Dialect(capabilities=Capabilities(output_length_control=control)), forces_length=False)
    assert body["max_tokens"] == 8
    assert not set(get_args(LengthControl)) & body.keys()


def test_text_in_parts_passes_through_on_chat() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    assert sent(messages, Dialect("chat"))["messages"] == messages


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, "image_url"),
        ({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, "input_audio"),
        ({"type": "video_url", "video_url": {"url": "x"}}, "video_url"),
        ("bare", "str"),
    ],
)
def test_a_message_with_more_than_text_is_refused_by_name(part: object, kind: str) -> None:
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}, part]}]
    with pytest.raises(ValueError, match=f"message 2: content of type {kind}; only text is sent"):
        sent(messages, Dialect("chat"))


def test_usage_is_not_asked_of_a_server_without_it() -> None:
    assert "stream_options" not in sent("x", Dialect(capabilities=Capabilities(usage_in_stream=False)))


@pytest.mark.parametrize(
    ("prompt", "dialect"),
    [
        ([1, 2], Dialect("chat")),
        ([1, 2], Dialect(capabilities=Capabilities(accepts_token_prompts=False))),
        ([{"role": "user", "content": "x"}], Dialect()),
    ],
)
def test_a_prompt_of_the_wrong_form_is_refused(prompt: list, dialect: Dialect) -> None:
    with pytest.raises(ValueError, match="route"):
        encode_request(prompt, "m", dialect=dialect, max_tokens=1)


def test_chat_never_takes_token_ids() -> None:
    assert not Dialect("chat").takes_token_ids
    assert Dialect().takes_token_ids
