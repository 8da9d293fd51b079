"""The OpenAI routes: shapes, counts, refusals, keep-alive."""

import json
from collections.abc import Callable

import pytest

from tests.unit.simulated.plain_client import Client, Served

Serve = Callable[..., tuple[Served, Client]]


def test_usage_comes_last_with_empty_choices(serve: Serve) -> None:
    _, client = serve()
    *content, usage, done = client.complete("a b c d", 3, stream_options={"include_usage": True}).events
    assert [event["choices"][0]["text"] for event in content] == [" token0", " token1", " token2"]
    assert [event["choices"][0]["finish_reason"] for event in content] == [None, None, "length"]
    assert usage["choices"] == []
    counts = {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}
    assert counts.items() <= usage["usage"].items()
    assert done == "[DONE]"


def test_no_usage_unless_asked(serve: Serve) -> None:
    _, client = serve()
    assert not any("usage" in event for event in client.complete().events)


def test_chat_streams_deltas_and_answers_whole(serve: Serve) -> None:
    _, client = serve()
    streamed = client.chat(max_tokens=2)
    assert streamed.events[0]["object"] == "chat.completion.chunk"
    assert streamed.texts == [" token0", " token1"]
    whole = client.chat(max_tokens=2, stream=False).row
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": " token0 token1"}
    assert whole["usage"]["prompt_tokens"] == 3


def test_token_ids_are_counted_one_by_one(serve: Serve) -> None:
    served, client = serve()
    client.complete(list(range(37)))
    assert served.log()[0]["input_tokens"] == 37


def test_ignore_eos_decides_over_the_length(serve: Serve) -> None:
    served, client = serve(eos_after_tokens=2)
    assert client.complete(max_tokens=4).events[-2]["choices"][0]["finish_reason"] == "stop"
    client.complete(max_tokens=4, ignore_eos=True)
    assert [row["output_tokens"] for row in served.log()] == [2, 4]


def test_tokenize_counts_what_a_prompt_counts(serve: Serve) -> None:
    _, client = serve()
    counted = client.post("/tokenize", {"prompt": "the same  words\nagain the"}).row
    assert counted["count"] == len(counted["tokens"]) == 5
    assert counted["tokens"][0] == counted["tokens"][-1]
    usage = client.complete("the same  words\nagain the", stream=False).row["usage"]
    assert usage["prompt_tokens"] == 5


def test_connection_is_used_again(serve: Serve) -> None:
    _, client = serve()
    client.complete()
    socket = client.http.sock
    client.get("/health")
    client.chat(stream=False)
    assert socket is not None
    assert client.http.sock is socket


def test_connection_close_is_honoured(serve: Serve) -> None:
    _, client = serve()
    response = client.begin("/v1/completions", {"prompt": "a", "stream": True}, {"Connection": "close"})
    assert response.headers["connection"] == "close"
    response.read()
    assert client.http.sock is None


def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    _, client = serve()
    client.http.connect()
    body = json.dumps({"prompt": "a", "max_tokens": 1})
    first = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    last = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    client.http.sock.sendall((first + last).encode())
    answer = b"".join(iter(lambda: client.http.sock.recv(4096), b"")).decode()
    assert answer.count("200 OK") == 2
    assert answer.index("text_completion") < answer.index('"status"')


def test_request_id_is_taken_from_header_or_user(serve: Serve) -> None:
    served, client = serve()
    client.post("/v1/completions", {"prompt": "a", "max_tokens": 1}, {"X-Request-Id": "from-header"})
    client.complete(user="from-user")
    client.complete()
    assert [row["request_id"] for row in served.log()] == ["from-header", "from-user", None]


@pytest.mark.parametrize(
    ("row", "status", "says"),
    [
        ({"prompt": "a", "model": "other"}, 404, "'other' does not exist"),
        ({"max_tokens": 1}, 400, "prompt"),
        ({"prompt": ["a", "b"]}, 400, "prompt"),
        ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens"),
        ({"prompt": "a", "max_tokens": 100}, 400, "maximum context length is 64"),
        ({"prompt": "a", "stream_options": 1}, 400, "stream_options"),
        (["no object"], 400, "JSON object"),
    ],
)
def test_bad_request_is_refused_and_the_server_goes_on(serve: Serve, row: object, status: int, says: str) -> None:
    _, client = serve(max_model_len=64)
    answer = client.post("/v1/completions", row)
    assert answer.status == status
    assert says in answer.row["error"]["message"]
    assert client.complete().status == 200


def test_unknown_route_lists_the_known(serve: Serve) -> None:
    _, client = serve()
    answer = client.get("/v1/engines")
    assert answer.status == 404
    assert "/v1/models" in answer.row["error"]["message"]


def test_models_names_the_served_model(serve: Serve) -> None:
    _, client = serve(model="mine")
    assert [model["id"] for model in client.get("/v1/models").row["data"]] == ["mine"]


def test_adapters_are_listed_and_answer_under_their_names(serve: Serve) -> None:
    _, client = serve(model="mine", lora_modules="one,two")
    assert [model["id"] for model in client.get("/v1/models").row["data"]] == ["mine", "one", "two"]
    assert client.post("/v1/completions", {"prompt": "a", "model": "two"}).row["model"] == "two"
    assert client.post("/v1/completions", {"prompt": "a", "model": "three"}).status == 404


def test_counters_add_up(serve: Serve) -> None:
    _, client = serve()
    prompt = " ".join(map(str, range(40)))
    client.complete(prompt, 3)
    client.complete(prompt, 2, stream=False)
    seen = client.metrics()
    assert seen["simulated_prompt_tokens_total"] == 80
    assert seen["simulated_generation_tokens_total"] == 5
    assert seen["simulated_prefix_cache_queries_total"] == 80
    assert seen["simulated_prefix_cache_hits_total"] == 32
    assert seen["simulated_time_to_first_token_seconds_count"] == 2
    assert seen["simulated_time_to_first_token_seconds_sum"] >= 0.01
    assert seen["simulated_requests_running"] == 0


def test_cache_reset_forgets_prompts(serve: Serve) -> None:
    served, client = serve()
    prompt = list(range(32))
    client.complete(prompt)
    assert client.post("/reset_prefix_cache", {}).status == 200
    client.complete(prompt)
    client.complete(prompt)
    assert [row["cached_tokens"] for row in served.log()] == [0, 0, 32]


def test_running_requests_hold_the_kv_pool(serve: Serve) -> None:
    served, client = serve(ttft_s=0.5, kv_tokens=100, max_model_len=100)
    with Client(served.port) as other:
        other.http.request("POST", "/v1/completions", json.dumps({"prompt": list(range(25)), "max_tokens": 1}))
        while client.metrics()["simulated_requests_running"] == 0:
            pass
        assert client.metrics()["simulated_kv_cache_utilization_ratio"] == 0.25
        other.http.getresponse().read()
    assert client.metrics()["simulated_kv_cache_utilization_ratio"] == 0.0
