"""The rules for an engine's streams find what breaks them."""

import pytest

from adapters.conformance import AdapterConformance
from adapters.openai import StreamScanner, event, stream
from adapters.protocol import Capabilities
from adapters.simulated.adapter import SimulatedAdapter
from tests.contracts.transcripts import read_transcripts

GOOD = read_transcripts("simulated")
PLAIN = GOOD["completions-plain"]


def suite(transcripts: dict[str, bytes], **capabilities: object) -> AdapterConformance:
    adapter = SimulatedAdapter()
    if capabilities:
        adapter.capabilities = Capabilities(**capabilities)  # type: ignore[misc, arg-type]
    found = AdapterConformance()
    found.adapter, found.transcripts = adapter, transcripts
    return found


def test_a_route_without_a_whole_answer_is_named() -> None:
    chat_less = {name: body for name, body in GOOD.items() if not name.startswith("chat") or "cut" in name}
    with pytest.raises(AssertionError, match="missing: \\['chat'\\]"):
        suite(chat_less).test_transcripts_cover_every_route()
    suite(chat_less, routes=("completions",)).test_transcripts_cover_every_route()
    suite({}).test_transcripts_cover_every_route()


def test_a_name_without_a_route_is_refused() -> None:
    with pytest.raises(AssertionError, match="begin with completions- or chat-, saw 'plain'"):
        suite({"plain": PLAIN}).test_the_first_token_is_the_first_output()


@pytest.mark.parametrize("name", ["chat-role_and_reasoning_first", "completions-empty_first-usage_with_last"])
def test_a_scanner_that_takes_an_empty_chunk_for_a_token_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = suite({name: GOOD[name]})
    rules.test_the_first_token_is_the_first_output()
    monkeypatch.setattr(event, "_is_answer", lambda _: True)
    with pytest.raises(AssertionError, match="output is in events \\[1, 2, 3"):
        rules.test_the_first_token_is_the_first_output()


def test_a_scanner_that_loses_a_cut_line_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = suite({"completions-plain": PLAIN})
    monkeypatch.setattr(stream, "MAX_LINE_BYTES", 50)
    with pytest.raises(AssertionError, match="parts of 1 bytes must say"):
        rules.test_a_stream_says_the_same_however_it_is_cut()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("completions-cut", PLAIN),
        ("completions-plain", GOOD["completions-error"]),
        ("chat-plain", GOOD["chat-cut"]),
        ("completions-plain", PLAIN.replace(b"data: [DONE]", b"")),
    ],
)
def test_a_name_that_says_the_wrong_end_is_found(name: str, body: bytes) -> None:
    with pytest.raises(AssertionError, match="a whole answer is"):
        suite({name: body}).test_an_answer_is_whole_only_where_it_ends()


def test_a_scanner_that_ends_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = suite({"completions-plain": PLAIN})
    rules.test_an_answer_is_whole_only_where_it_ends()
    monkeypatch.setattr(StreamScanner, "may_end", property(lambda scanner: scanner.finish_reason is not None))
    with pytest.raises(AssertionError, match="must not end before its event 5"):
        rules.test_an_answer_is_whole_only_where_it_ends()


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("completions-plain", GOOD["completions-several_tokens"], "usage counts 4 tokens, the events 2"),
        ("completions-several_tokens", PLAIN, "usage counts 4 tokens, the events 4"),
        ("completions-plain", PLAIN.replace(b'"usage"', b'"used"'), "the transcript has none"),
    ],
)
def test_a_count_that_nothing_explains_is_found(name: str, body: bytes, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        suite({name: body}).test_usage_is_found_and_counts_the_output()


def test_an_engine_that_promises_no_usage_may_send_none() -> None:
    silent = PLAIN.replace(b'"usage"', b'"used"')
    rules = suite({"completions-plain": silent}, usage_in_stream=False)
    assert not rules.adapter.capabilities.usage_in_stream
    rules.test_usage_is_found_and_counts_the_output()
