import json
import socket

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.replay import count_tokens, reset_cache, served_models, server_kind
from orchestrator.replay.server import check_model
from tests.unit.replay.scripted_server import Call, Server, serving


def serving_routes(routes: dict[str, object], *, server_header: str = "x"):  # noqa: ANN201 - a context manager of Server
    """Serve JSON (or text) by path; 404 elsewhere."""

    async def script(call: Call) -> bool:
        path = call.head.split()[1].decode()
        value = routes.get(path)
        status = "200 OK" if path in routes else "404 Not Found"
        body = (value if isinstance(value, str) else json.dumps(value)).encode()
        head = f"HTTP/1.1 {status}\r\nServer: {server_header}\r\nContent-Length: {len(body)}\r\n\r\n"
        call.writer.write(head.encode() + body)
        return False

    return serving(script)


def url(server: Server) -> str:
    return server.endpoint.base_url


MODELS = {"data": [{"id": "a", "owned_by": "x"}, {"id": "b"}]}


def test_models_are_listed_with_the_key_in_its_header() -> None:
    with serving_routes({"/v1/models": MODELS}) as server:
        assert served_models(url(server), "s3cret") == ["a", "b"]
        assert b"Authorization: Bearer s3cret" in server.calls[0].head
        check_model(url(server), "b")
        with pytest.raises(InputError, match="serves no model 'c'; it serves: a, b"):
            check_model(url(server), "c")


def test_a_server_of_another_kind_is_said() -> None:
    with serving_routes({"/v1/models": "<html>"}) as server, pytest.raises(InputError, match="OpenAI server"):
        served_models(url(server))
    with serving_routes({}) as server, pytest.raises(InputError, match="404"):
        served_models(url(server))


def test_nobody_there_is_said() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="does not answer"):
            served_models(f"http://127.0.0.1:{unheard.getsockname()[1]}")


@pytest.mark.parametrize("address", ["file:///etc", "nonsense", "http://127.0.0.1:99999"])
def test_only_http_is_asked(address: str) -> None:
    with pytest.raises(InputError):
        served_models(address)


def test_a_key_is_never_shown() -> None:
    with pytest.raises(InputError) as caught:
        served_models("http://127.0.0.1:1", "s3\ncret")
    assert "cret" not in str(caught.value)


def test_a_refused_key_is_said() -> None:
    async def refuse(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        return False

    with serving(refuse) as server, pytest.raises(InputError, match="key"):
        served_models(url(server), "k")


def test_a_redirect_does_not_carry_the_key_away() -> None:
    async def redirect(call: Call) -> bool:
        call.writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        return False

    with serving(redirect) as server:
        with pytest.raises(InputError, match="302"):
            served_models(url(server), "k")
        assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("reply", "count"), [({"count": 3, "tokens": [1, 2, 3]}, 3), ({"tokens": [4, 5]}, 2), ({}, None), ("text", None)]
)
def test_tokens_are_counted_in_both_forms(reply: object, count: int | None) -> None:
    with serving_routes({"/tokenize": reply}) as server:
        assert count_tokens(url(server), "a b") == count
        assert {"prompt", "content"} <= json.loads(server.calls[0].body).keys()


def test_no_count_where_none_is_offered() -> None:
    with serving_routes({}) as server:
        assert count_tokens(url(server), "a b") is None


def test_a_cache_is_reset_or_it_is_said() -> None:
    with serving_routes({"/reset_prefix_cache": ""}) as server:
        reset_cache(url(server), "/reset_prefix_cache")
        assert server.calls[0].head.startswith(b"POST")
        with pytest.raises(InputError, match="404"):
            reset_cache(url(server), "/other")


@pytest.mark.parametrize(
    ("routes", "header", "kind"),
    [
        ({"/v1/models": {"data": [{"id": "a", "owned_by": "vllm"}]}}, "uvicorn", "vllm"),
        ({"/v1/models": {"data": [{"id": "a", "owned_by": "llamacpp"}]}}, "x", "llamacpp"),
        ({"/v1/models": MODELS}, "llama.cpp", "llamacpp"),
        ({"/v1/models": MODELS, "/metrics": "# HELP\nvllm:num_requests_running 0\n"}, "x", "vllm"),
        ({"/v1/models": MODELS, "/metrics": "# HELP\nllamacpp:requests 0\n"}, "x", "llamacpp"),
        ({"/v1/models": MODELS}, "x", "other"),
    ],
)
def test_the_kind_of_server_is_guessed(routes: dict, header: str, kind: str) -> None:
    with serving_routes(routes, server_header=header) as server:
        assert server_kind(url(server)) == kind
