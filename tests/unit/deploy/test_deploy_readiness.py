import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator

import pytest

from adapters.openai import Dialect
from adapters.protocol import Capabilities
from orchestrator.deploy.readiness import MAX_TOKEN_PROBES, NotReadyError, Probe, await_ready, prove_token
from orchestrator.domain.clock import NS_PER_S, Clock, SystemClock
from orchestrator.domain.endpoint import Endpoint

CLOCK = SystemClock()
WORD = b'data: {"choices": [{"text": "Paris"}]}\n\ndata: [DONE]\n\n'
EMPTY = b'data: {"choices": [{"text": ""}]}\n\ndata: {"choices": []}\n\ndata: [DONE]\n\n'
BROKEN = b'data: {"error": {"message": "no memory"}}\n\n'

Answer = tuple[int, bytes]


class SteppingClock(SystemClock):
    """Goes on by a fifth of a second at each look, so that a deadline comes after so many looks on any machine."""

    def __init__(self) -> None:
        self.read_ns = 0

    def now_ns(self) -> int:
        self.read_ns += NS_PER_S // 5
        return self.read_ns


class Server(http.server.ThreadingHTTPServer):
    """Answers each completion with the next of the given answers, the last one for ever."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[tuple[str, dict]] = []
        self.health: list[int] = [200]

    def next_answer(self, path: str, body: dict) -> Answer:
        self.asked.append((path, body))
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Stay quiet."""

    def do_GET(self) -> None:
        self.answer(self.server.health.pop(0) if len(self.server.health) > 1 else self.server.health[0], b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(*self.server.next_answer(self.path, body))

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    with Server(list(answers)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def probe_of(
    server: Server,
    *,
    clock: Clock = CLOCK,
    watch: Callable[[], None] = lambda: None,
    dialect: Dialect = Dialect(),  # noqa: B008 - frozen
) -> Probe:
    began_ns = clock.now_ns()
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}", "m")
    return Probe(endpoint, "/health", began_ns, began_ns + 10 * NS_PER_S, watch, dialect=dialect)


def test_an_engine_that_answers_words_is_ready() -> None:
    with serving((200, WORD)) as server:
        times = await_ready(probe_of(server), CLOCK)
    assert 0 < times.listen_s <= times.health_s < times.token_s
    assert 2 <= len(server.asked) <= MAX_TOKEN_PROBES


@pytest.mark.parametrize("first", [(503, b"loading"), (200, EMPTY), (200, BROKEN), (429, b"")])
def test_an_engine_that_is_not_there_yet_is_asked_again(first: Answer) -> None:
    with serving(first, (200, WORD)) as server:
        await_ready(probe_of(server), CLOCK)
    assert len(server.asked) >= 3


@pytest.mark.parametrize(
    ("answer", "reason"), [((200, EMPTY), "without any text"), ((200, BROKEN), "no memory"), ((500, b"oops"), "oops")]
)
def test_what_was_seen_last_is_said_at_the_deadline(answer: Answer, reason: str) -> None:
    clock = SteppingClock()
    with serving(answer) as server, pytest.raises(NotReadyError, match=reason):
        await_ready(probe_of(server, clock=clock), clock)


def test_a_refusal_is_not_repeated() -> None:
    with serving((404, b"no such model")) as server, pytest.raises(NotReadyError, match="no such model"):
        await_ready(probe_of(server), CLOCK)
    assert len(server.asked) == 1


def test_an_engine_that_ends_meanwhile_is_not_waited_for() -> None:
    def watch() -> None:
        raise NotReadyError("it ended")

    with serving((503, b"")) as server, pytest.raises(NotReadyError, match="it ended"):
        await_ready(probe_of(server, watch=watch), CLOCK)


def test_an_engine_whose_health_goes_is_not_waited_for() -> None:
    with serving((500, b"no memory")) as server:
        server.health = [200, 503]
        with pytest.raises(NotReadyError, match=r"was healthy and is no more.*no memory"):
            await_ready(probe_of(server), CLOCK)
    assert len(server.asked) == 1


def test_it_is_asked_as_the_measurement_will_ask_it() -> None:
    dialect = Dialect(capabilities=Capabilities(output_length_control="generation_config", usage_in_stream=False))
    with serving((200, WORD)) as server:
        await_ready(probe_of(server, dialect=dialect), CLOCK)
    path, body = server.asked[0]
    assert path == "/v1/completions"
    assert json.loads(body["generation_config"]) == {"eos_token_id": -1}
    assert "stream_options" not in body


def test_a_server_that_only_chats_is_ready_by_its_chat() -> None:
    role = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
    said = b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n'
    with serving((200, role), (200, role + said)) as server:
        await_ready(probe_of(server, dialect=Dialect("chat")), CLOCK)
    path, body = server.asked[0]
    assert len(server.asked) >= 3
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "The capital of France is"}]


def test_one_more_token_proves_that_an_engine_still_generates() -> None:
    with serving((503, b"busy"), (200, WORD)) as server:
        prove_token(probe_of(server).endpoint, Dialect(), CLOCK, timeout_s=10)
    assert len(server.asked) == 2


@pytest.mark.parametrize(("answer", "reason"), [((200, EMPTY), "without any text"), ((200, BROKEN), "no memory")])
def test_an_engine_that_answers_without_a_token_is_not_alive(answer: Answer, reason: str) -> None:
    with serving(answer) as server, pytest.raises(NotReadyError, match=f"within 10 s.*{reason}"):
        prove_token(probe_of(server).endpoint, Dialect(), SteppingClock(), timeout_s=10)
