from adapters.openai import Dialect
from orchestrator.domain.endpoint import Endpoint
from orchestrator.replay import prepare
from orchestrator.replay.encoding import EncodedRequests
from workloads.schedule import Schedule, build_closed_schedule, build_open_schedule
from workloads.workload import FixedSource, Workload

ENDPOINT = Endpoint("http://127.0.0.1:1", "model")
WORKLOAD = Workload(source=FixedSource(input_tokens=8, output_tokens=4))


class Words:
    """Makes prompts that say which request they are of, and counts how many were made."""

    made = 0

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        self.made += 1
        return f"{salt} {index} of {len(schedule)}"

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> list[int]:
        del salt
        self.made += 1
        return [index, len(schedule)]


def test_requests_encoded_when_read_are_those_encoded_beforehand() -> None:
    for schedule in (
        build_open_schedule(WORKLOAD, rate_rps=50, duration_s=1),
        build_closed_schedule(WORKLOAD, num_requests=9),
    ):
        common = {"endpoint": ENDPOINT, "dialect": Dialect(), "salt": "s", "seed": 3}
        before = prepare(schedule, Words(), **common)
        encoded = EncodedRequests(schedule, Words(), **common)
        assert tuple(encoded) == before
        assert (len(encoded), encoded[-1], encoded[2:5]) == (len(before), before[-1], before[2:5])


def test_nothing_is_encoded_before_it_is_read() -> None:
    words = Words()
    schedule = build_closed_schedule(WORKLOAD, num_requests=100)
    requests = iter(EncodedRequests(schedule, words, endpoint=ENDPOINT, dialect=Dialect(), salt=""))
    assert words.made == 0
    assert next(requests).index == 0
    assert words.made == 1
