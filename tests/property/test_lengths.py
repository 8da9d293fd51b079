"""Whatever answers there were, each is as long as asked, shorter or longer, and none is two of them."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.records import RequestFailure, RequestRecord
from orchestrator.metrics.lengths import num_long, num_short


@st.composite
def records(draw: st.DrawFn) -> RequestRecord:
    return RequestRecord(
        index=0,
        intended_ns=0,
        dispatched_ns=0,
        sent_ns=0,
        chunk_ns=array("q", [1]),
        end_ns=1,
        input_tokens=None,
        output_tokens_asked=draw(st.none() | st.integers(1, 5)),
        output_tokens_server=draw(st.none() | st.integers(1, 5)),
        output_tokens_client=draw(st.integers(1, 5)),
        failure=draw(st.none() | st.just(RequestFailure.TIMEOUT)),
    )


@given(st.lists(records(), max_size=6))
def test_short_long_and_as_asked_are_all_that_were_asked(issued: list[RequestRecord]) -> None:
    asked = [one for one in issued if one.failure is None and one.output_tokens_asked is not None]
    exact = sum(one.output_tokens == one.output_tokens_asked for one in asked)
    short, long = num_short(issued, "forced"), num_long(issued, "forced")
    if not asked:
        assert (short, long) == (None, None)
        return
    assert short is not None
    assert long is not None
    assert short + long + exact == len(asked)


@given(st.lists(records(), max_size=6))
def test_nothing_is_asked_of_a_natural_stop(issued: list[RequestRecord]) -> None:
    assert num_short(issued, "natural") is num_long(issued, "natural") is num_short(issued, None) is None
