import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.protocol import Capabilities
from orchestrator.domain.agreement import GREEDY, GREEDY_ERROR, MAX_TOKENS, PROMPTS, from_text
from orchestrator.domain.endpoint import Endpoint
from orchestrator.trials.agreement import NoAnswerError, ask_greedy, greedy_facts

Body = dict[str, Any]
Answering = Callable[[Body], tuple[int, object]]
LENGTH_FIELDS = {"ignore_eos", "min_tokens", "generation_config"}


class Server(http.server.ThreadingHTTPServer):
    """Answers completions by a function and remembers what it was asked."""

    def __init__(self, answering: Answering) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answering = answering
        self.asked: list[tuple[str, str | None, Body]] = []

    def endpoint(self, **changes: Any) -> Endpoint:
        return Endpoint(f"http://127.0.0.1:{self.server_port}", "m", **changes)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Stay quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        status, answer = self.server.answering(body)
        payload = json.dumps(answer).encode()
        with contextlib.suppress(BrokenPipeError):  # who does not wait has gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)


@contextlib.contextmanager
def serving(answering: Answering) -> Iterator[Server]:
    with Server(answering) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def paris(body: Body) -> tuple[int, object]:
    told = {"tokens": [" Paris"], "top_logprobs": [{" Paris": -0.1}]} if "logprobs" in body else None
    return 200, {"choices": [{"text": " Paris", "logprobs": told}], "usage": {"prompt_tokens": 5}}


def paris_without_probabilities(body: Body) -> tuple[int, object]:
    return (422, {"detail": "unknown field logprobs"}) if "logprobs" in body else paris(body)


@pytest.mark.parametrize("control", ["ignore_eos", "min_tokens", "generation_config", None])
def test_every_prompt_is_asked_for_once_greedily_and_without_a_forced_length(
    control: Any, tokenizer_path: Path
) -> None:
    capabilities = Capabilities(output_length_control=control)
    with serving(paris) as server:
        answers = ask_greedy(server.endpoint(), capabilities, tokenizer=tokenizer_path)
    assert [one.prompt for one in answers] == list(range(len(PROMPTS)))
    assert [body["prompt"] for _, _, body in server.asked] == list(PROMPTS)
    for path, _, body in server.asked:
        assert path == "/v1/completions"
        assert (body["temperature"], body["max_tokens"], body["stream"], body["model"]) == (0, MAX_TOKENS, False, "m")
        assert not ({"stream_options"} | LENGTH_FIELDS) & set(body)
    assert all(one.tokens == (" Paris",) and one.top is not None for one in answers)


def test_an_engine_that_refuses_probabilities_is_asked_without(tokenizer_path: Path) -> None:
    with serving(paris_without_probabilities) as server:
        answers = ask_greedy(server.endpoint(), Capabilities(), tokenizer=tokenizer_path)
    assert all(one.tokens == (" Paris",) and one.top is None for one in answers)


def test_probabilities_in_an_unknown_form_are_asked_away(tokenizer_path: Path) -> None:
    def strange(body: Body) -> tuple[int, object]:
        told = {"tokens": 7} if "logprobs" in body else None
        return 200, {"choices": [{"text": " Paris", "logprobs": told}]}

    with serving(strange) as server:
        answers = ask_greedy(server.endpoint(), Capabilities(), tokenizer=tokenizer_path)
    assert answers[0].tokens == (" Paris",)


def test_the_key_travels_in_its_header(tokenizer_path: Path) -> None:
    with serving(paris) as server:
        ask_greedy(server.endpoint(key="secret"), Capabilities(), tokenizer=tokenizer_path)
    assert {key for _, key, _ in server.asked} == {"Bearer secret"}


def test_the_fact_holds_the_answers(tokenizer_path: Path) -> None:
    with serving(paris) as server:
        facts = greedy_facts(server.endpoint(), Capabilities(), tokenizer=tokenizer_path)
    assert set(facts) == {GREEDY}
    assert len(from_text(facts[GREEDY])) == len(PROMPTS)


def test_an_engine_that_refuses_says_so_in_a_fact_after_one_prompt(tokenizer_path: Path) -> None:
    with serving(lambda _: (400, {"error": "no such route"})) as server:
        facts = greedy_facts(server.endpoint(), Capabilities(), tokenizer=tokenizer_path)
    assert set(facts) == {GREEDY_ERROR}
    assert "400" in facts[GREEDY_ERROR]
    assert "no such route" in facts[GREEDY_ERROR]
    assert {body["prompt"] for _, _, body in server.asked} == {PROMPTS[0]}


def test_an_engine_that_is_gone_says_so_in_a_fact(tokenizer_path: Path) -> None:
    with serving(paris) as server:
        endpoint = server.endpoint()
    assert "ConnectionRefusedError" in greedy_facts(endpoint, Capabilities(), tokenizer=tokenizer_path)[GREEDY_ERROR]


def test_an_engine_that_does_not_answer_is_not_waited_for(
    tokenizer_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.trials.agreement.ANSWER_TIMEOUT_S", 0.05)
    woken = threading.Event()

    def silent(_: Body) -> tuple[int, object]:
        woken.wait(5)
        return 500, {}

    with serving(silent) as server:
        facts = greedy_facts(server.endpoint(), Capabilities(), tokenizer=tokenizer_path)
        woken.set()
    assert "TimeoutError" in facts[GREEDY_ERROR]


def test_a_model_without_a_tokenizer_is_not_asked() -> None:
    with pytest.raises(NoAnswerError, match="tokenizer"):
        ask_greedy(Endpoint("http://127.0.0.1:1", "m"), Capabilities(), tokenizer=None)


def test_an_engine_without_the_route_is_not_asked(tokenizer_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="seen chat"):
        ask_greedy(Endpoint("http://127.0.0.1:1", "m"), Capabilities(routes=("chat",)), tokenizer=tokenizer_path)
