import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from orchestrator.cluster.queue import DeviceQueue
from orchestrator.domain.errors import DeploymentError


def test_the_first_to_ask_is_served_first() -> None:
    queue = DeviceQueue(2)
    assert queue.ask("a", 2) == ("a",)
    assert queue.ask("b", 1) == ()
    assert queue.ask("c", 1) == ()
    assert queue.give_back("a") == ("b", "c")


def test_a_large_request_is_never_overtaken_by_small_ones() -> None:
    queue = DeviceQueue(2)
    queue.ask("small-0", 1)
    assert queue.ask("large", 2) == ()
    for number in range(1, 30):
        assert queue.ask(f"small-{number}", 1) == ()
    assert queue.give_back("small-0") == ("large",)


def test_more_than_there_are_is_refused_with_the_numbers() -> None:
    with pytest.raises(DeploymentError, match=r"asks for 4 devices, the queue has 2"):
        DeviceQueue(2).ask("a", 4)


def test_asking_twice_is_refused() -> None:
    queue = DeviceQueue(2)
    queue.ask("a", 1)
    with pytest.raises(DeploymentError, match="holds devices or waits"):
        queue.ask("a", 1)


def test_giving_up_the_place_in_the_queue_serves_those_behind() -> None:
    queue = DeviceQueue(2)
    queue.ask("a", 1)
    queue.ask("large", 2)
    queue.ask("b", 1)
    assert queue.give_back("large") == ("b",)
    assert queue.give_back("large") == ()


@given(capacity=st.integers(1, 8), wishes=st.lists(st.integers(1, 8), min_size=1, max_size=40))
def test_everybody_who_fits_is_served_in_the_order_of_asking(capacity: int, wishes: list[int]) -> None:
    queue = DeviceQueue(capacity)
    wanted = [(f"holder-{number}", devices) for number, devices in enumerate(wishes) if devices <= capacity]
    served: list[str] = []
    for holder, devices in wanted:
        served += queue.ask(holder, devices)
    for holder, _ in wanted:
        assert holder in queue.holders
        served += queue.give_back(holder)
    assert served == [holder for holder, _ in wanted]
    assert queue.free == capacity


class QueueOfTrials(RuleBasedStateMachine):
    """Trials that ask, end and die in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = DeviceQueue(4)
        self.asked: dict[str, int] = {}
        self.count = 0

    @rule(devices=st.integers(1, 4))
    def ask(self, devices: int) -> None:
        holder = f"trial-{self.count}"
        self.count += 1
        self.asked[holder] = devices
        self.queue.ask(holder, devices)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        holder = data.draw(st.sampled_from(sorted(self.asked)))
        del self.asked[holder]
        self.queue.give_back(holder)

    @invariant()
    def never_over_capacity(self) -> None:
        assert sum(self.asked[holder] for holder in self.queue.holders) == 4 - self.queue.free
        assert 0 <= self.queue.free <= 4

    @invariant()
    def nobody_waits_while_the_next_would_fit(self) -> None:
        if self.queue.waiting:
            assert self.asked[self.queue.waiting[0]] > self.queue.free

    @invariant()
    def everybody_holds_or_waits(self) -> None:
        assert self.queue.holders | set(self.queue.waiting) == self.asked.keys()


TestQueueOfTrials = QueueOfTrials.TestCase
