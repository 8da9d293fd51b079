import json

from adapters.openai import Dialect
from adapters.protocol import Capabilities
from orchestrator.domain.endpoint import Endpoint
from orchestrator.replay.encoding import EncodedRequests
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule
from workloads.workload import FixedSource, Workload

WORKLOAD = Workload(source=FixedSource(input_tokens=4, output_tokens=3))
ENDPOINT = Endpoint("http://x", "m")


class Prompts:
    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> list[int]:
        return [index + len(salt)] * int(schedule.input_tokens[index])

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        return f"{salt} {index} of {len(schedule)}"


def test_a_schedule_becomes_encoded_requests() -> None:
    schedule = build_open_schedule(WORKLOAD, rate_rps=10, duration_s=2)
    prepared = EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=Dialect(), salt="abc")
    assert [one.offset_ns for one in prepared] == schedule.intended_ns.tolist()
    assert [one.index for one in prepared] == list(range(len(schedule)))
    assert {(one.input_tokens, one.output_tokens_asked) for one in prepared} == {(4, 3)}
    body = json.loads(prepared[1].body)
    assert (body["model"], body["prompt"], body["max_tokens"]) == ("m", [4] * 4, 3)


def test_a_closed_schedule_has_no_times() -> None:
    schedule = build_closed_schedule(WORKLOAD, num_requests=3)
    prepared = EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=Dialect(), salt="")
    assert [one.offset_ns for one in prepared] == [0, 0, 0]


def test_text_goes_where_token_ids_are_not_taken() -> None:
    schedule = build_closed_schedule(WORKLOAD, num_requests=1)
    chat = EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=Dialect("chat"), salt="s")
    assert json.loads(chat[0].body)["messages"][0]["content"] == "s 0 of 1"
    plain = Dialect(capabilities=Capabilities(accepts_token_prompts=False))
    assert json.loads(EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=plain, salt="s")[0].body)[
        "prompt"
    ]


def test_a_request_for_an_adapter_names_it_as_its_model() -> None:
    schedule = build_closed_schedule(WORKLOAD.model_copy(update={"lora": {"a": 0.5}}), num_requests=30)
    prepared = EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=Dialect(), salt="")
    assert schedule.lora is not None
    asked = [schedule.lora.of(index) or "m" for index in range(30)]
    assert [json.loads(one.body)["model"] for one in prepared] == asked
    assert set(asked) == {"a", "m"}


def test_a_natural_stop_sends_no_length_control() -> None:
    schedule = build_closed_schedule(WORKLOAD, num_requests=1)
    dialect = Dialect(capabilities=Capabilities(output_length_control="ignore_eos"))
    forced, natural = (
        json.loads(
            EncodedRequests(schedule, Prompts(), endpoint=ENDPOINT, dialect=dialect, salt="", forces_length=forces)[
                0
            ].body
        )
        for forces in (True, False)
    )
    assert (forced["ignore_eos"], "ignore_eos" in natural, natural["max_tokens"]) == (True, False, 3)


class Counted(Prompts):
    made = 0

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> list[int]:
        self.made += 1
        return super().token_ids(schedule, index, salt=salt)


def test_nothing_is_encoded_before_it_is_read_and_each_place_reads_alike() -> None:
    prompts = Counted()
    schedule = build_open_schedule(WORKLOAD, rate_rps=50, duration_s=1)
    encoded = EncodedRequests(schedule, prompts, endpoint=ENDPOINT, dialect=Dialect(), salt="", seed=3)
    assert prompts.made == 0
    first = next(iter(encoded))
    assert prompts.made == 1
    every = tuple(encoded)
    assert (first, encoded[-1], encoded[2:5]) == (every[0], every[-1], every[2:5])
    assert [one.offset_ns for one in every] == sorted(one.offset_ns for one in every)
