import math
from typing import Any

import pytest

from orchestrator.analysis.agreement import PairAgreement, compare_answers
from orchestrator.domain.agreement import PROMPTS, GreedyAnswer, from_text, to_text

IDS = (11, 12, 13, 14, 15, 16, 17, 18)
END = 2


def an_answer(prompt: int = 0, ids: tuple[int, ...] = IDS, **changes: Any) -> GreedyAnswer:
    return GreedyAnswer(prompt=prompt, ids=ids, tokens=tuple(f"t{one}" for one in ids), **changes)


def tops(**at: dict[int, float]) -> tuple[dict[int, float], ...]:
    """Positions `p0` to `p7`; one that is not given is certain of its token."""
    return tuple(at.get(f"p{index}", {token: -0.01}) for index, token in enumerate(IDS))


def ten(**changes: GreedyAnswer) -> tuple[GreedyAnswer, ...]:
    return tuple(changes.get(f"p{index}", an_answer(index)) for index in range(len(PROMPTS)))


def compared(left: tuple[GreedyAnswer, ...], right: tuple[GreedyAnswer, ...]) -> PairAgreement:
    (pair,) = compare_answers({"a": left, "b": right})
    return pair


def test_equal_answers_agree_on_every_prompt() -> None:
    pair = compared(ten(), ten())
    assert (pair.num_compared, pair.num_equal, pair.differences) == (10, 10, ())
    assert pair.text == "a and b agree on 10 of 10 prompts."


def test_the_first_difference_is_found_with_both_tokens_and_probabilities() -> None:
    ours = an_answer(3, top=tops(p4={15: -0.60, 99: -0.85}))
    theirs = an_answer(3, (*IDS[:4], 99, 1, 2, 3), top=tops(p4={99: -0.65, 15: -0.70}))
    (difference,) = compared(ten(p3=ours), ten(p3=theirs)).differences
    assert (difference.prompt, difference.position) == (3, 4)
    assert (difference.left.token, difference.right.token) == ("t15", "t99")
    left, right = difference.left, difference.right
    assert (left.own_probability, left.other_probability) == pytest.approx((math.exp(-0.60), math.exp(-0.85)))
    assert (right.own_probability, right.other_probability) == pytest.approx((math.exp(-0.65), math.exp(-0.70)))


def test_nearly_equal_probabilities_on_both_sides_are_a_near_tie() -> None:
    ours = an_answer(0, top=tops(p0={11: -0.60, 99: -0.85}))
    theirs = an_answer(0, (99, *IDS[1:]), top=tops(p0={99: -0.65, 11: -0.70}))
    pair = compared(ten(p0=ours), ten(p0=theirs))
    assert pair.differences[0].is_near_tie
    assert pair.text == "a and b agree on 9 of 10 prompts; of the 1 that differ, 1 part at a near tie."


def test_one_side_that_was_certain_makes_it_no_near_tie() -> None:
    ours = an_answer(0, top=tops(p0={11: -0.01, 99: -5.0}))
    theirs = an_answer(0, (99, *IDS[1:]), top=tops(p0={99: -0.65, 11: -0.70}))
    pair = compared(ten(p0=ours), ten(p0=theirs))
    assert pair.differences[0].is_near_tie is False
    assert pair.text == "a and b agree on 9 of 10 prompts; of the 1 that differ, 1 part where it was no near tie."


def test_probabilities_of_one_side_are_enough_to_judge_a_tie() -> None:
    ours = an_answer(0, top=tops(p0={11: -0.60, 99: -0.85}))
    (difference,) = compared(ten(p0=ours), ten(p0=an_answer(0, (99, *IDS[1:])))).differences
    assert difference.is_near_tie
    assert difference.right.own_probability is None


def test_what_nobody_tells_is_not_called_a_tie() -> None:
    pair = compared(ten(), ten(p0=an_answer(0, (99, *IDS[1:]))))
    assert pair.differences[0].is_near_tie is None
    assert "1 part where the probabilities are not known" in pair.text


def test_a_token_outside_the_likeliest_has_no_probability() -> None:
    ours = an_answer(0, top=tops(p0={11: -0.60, 98: -0.85}))
    (difference,) = compared(ten(p0=ours), ten(p0=an_answer(0, (99, *IDS[1:])))).differences
    assert difference.left.own_probability is not None
    assert difference.left.other_probability is None
    assert difference.is_near_tie is None


def test_a_token_outside_the_likeliest_is_no_near_tie_where_even_those_are_far_behind() -> None:
    ours = an_answer(0, top=tops(p0={11: -0.10, 98: -4.0, 97: -4.5}))
    (difference,) = compared(ten(p0=ours), ten(p0=an_answer(0, (99, *IDS[1:])))).differences
    assert difference.left.other_probability is None
    assert difference.is_near_tie is False


def test_an_answer_that_ended_differs_from_one_that_went_on() -> None:
    ended = an_answer(0, IDS[:2], top=(*tops()[:2], {END: -0.60, 13: -0.85}))
    went_on = an_answer(0, top=tops(p2={13: -0.65, END: -0.70}))
    (difference,) = compared(ten(p0=ended), ten(p0=went_on)).differences
    assert (difference.position, difference.left.token, difference.right.token) == (2, None, "t13")
    assert difference.left.own_probability == pytest.approx(math.exp(-0.60))
    assert difference.right.other_probability == pytest.approx(math.exp(-0.70))
    assert difference.is_near_tie


def test_answers_that_ended_alike_agree() -> None:
    assert compared(ten(p0=an_answer(0, IDS[:2])), ten(p0=an_answer(0, IDS[:2]))).num_equal == 10


def test_differences_from_the_first_token_on_mean_another_model() -> None:
    others = tuple(an_answer(index, (99, *IDS[1:])) for index in range(len(PROMPTS)))
    pair = compared(ten(), others)
    assert pair.num_equal == 0
    assert "differ from the first token on 10 prompts: probably not the same model or tokenizer" in pair.text


def test_a_few_first_tokens_at_near_ties_do_not_mean_another_model() -> None:
    ours = tuple(an_answer(index, top=tops(p0={11: -0.6, 99: -0.7})) for index in range(len(PROMPTS)))
    theirs = tuple(an_answer(index, (99, *IDS[1:])) for index in range(len(PROMPTS)))
    assert "probably not" not in compared(ours, theirs).text


def test_prompts_counted_differently_are_told() -> None:
    ours = tuple(an_answer(index, prompt_tokens=5) for index in range(3))
    theirs = tuple(an_answer(index, prompt_tokens=count) for index, count in enumerate((5, 6, None)))
    pair = compared(ours, theirs)
    assert pair.num_recounted == 1
    assert "count the tokens of 1 prompts differently" in pair.text


def test_only_prompts_that_both_answered_are_compared() -> None:
    pair = compared(ten()[:4], ten()[2:])
    assert (pair.num_compared, pair.num_equal) == (2, 2)


def test_three_candidates_are_three_pairs() -> None:
    pairs = compare_answers({"a": ten(), "b": ten(), "c": ten()})
    assert [(pair.left, pair.right) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_one_candidate_is_no_pair() -> None:
    assert compare_answers({"a": ten()}) == ()


def test_answers_come_back_from_their_text() -> None:
    answers = ten(p0=an_answer(0, top=tops(), prompt_tokens=5), p1=an_answer(1, ()))
    assert from_text(to_text(answers)) == answers


def test_another_text_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt"):
        from_text('[{"ids": [1]}]')


def test_ten_full_answers_of_a_large_vocabulary_fit_into_a_tag() -> None:
    ids = tuple(range(128_000, 128_008))
    top = tuple({token: -1.04, token + 8: -2.35, token + 16: -10.36} for token in ids)
    answers = tuple(
        GreedyAnswer(prompt=index, ids=ids, tokens=(" weather",) * 8, top=top, prompt_tokens=12) for index in range(10)
    )
    assert len(to_text(answers)) < 6000
