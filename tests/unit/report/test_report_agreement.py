import dataclasses
import re
from typing import Any

from orchestrator.domain.agreement import GREEDY, GREEDY_ERROR, PROMPTS, GreedyAnswer, to_text
from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.report.html import to_html
from orchestrator.report.markdown import to_markdown
from orchestrator.report.summary import study_summary
from tests.study_builders import a_completed_trial, a_record, a_trial

TITLE = "Do the candidates serve the same model?"
EVIL = "<script>|x"


def answers(*, odd: int = 0, second: str = " nine", top: dict[int, float] | None = None) -> str:
    """Ten answers of two tokens, of which the first `odd` have another second token."""
    return to_text(
        tuple(
            GreedyAnswer(prompt=index, ids=(7, 9), tokens=(" seven", second), top=({7: -0.1}, top) if top else None)
            if index < odd
            else GreedyAnswer(prompt=index, ids=(7, 8), tokens=(" seven", " eight"))
            for index in range(len(PROMPTS))
        )
    )


def defaults(engine: str, facts: dict[str, str], number: int = 0) -> TrialRecord:
    trial = dataclasses.replace(a_completed_trial(number), trial=a_trial(number, engine=engine))
    return dataclasses.replace(trial, facts={**trial.facts, **facts})


def record(**facts: dict[str, str]) -> StudyRecord:
    return a_record(trials=tuple(defaults(engine, told) for engine, told in facts.items()))


def test_both_forms_say_how_far_the_candidates_agree() -> None:
    told = record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers(odd=1, top={9: -0.7, 8: -0.8})})
    for text in (to_markdown(told), to_html(told)):
        assert TITLE in text
        assert "llamacpp and vllm agree on 9 of 10 prompts; of the 1 that differ, 1 part at a near tie." in text
        assert PROMPTS[0] in text
        assert "vllm: 49.7 %, 44.9 %" in text
    row = next(line for line in to_markdown(told).splitlines() if line.startswith(f"| {PROMPTS[0]}"))
    assert row == (
        f"| {PROMPTS[0]} | 2 | llamacpp: ' eight'; vllm: ' nine' | llamacpp: not told; vllm: 49.7 %, 44.9 % | yes |"
    )


def test_the_section_is_there_only_with_two_candidates_that_answered() -> None:
    for told in (
        a_record(),
        record(llamacpp={GREEDY: answers()}),
        record(llamacpp={GREEDY: answers()}, vllm={GREEDY_ERROR: "refused"}),
    ):
        assert TITLE not in to_markdown(told)
        assert TITLE not in to_html(told)
        assert study_summary(told)["agreement"] is None


def test_candidates_that_agree_wholly_have_no_table() -> None:
    told = record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers()})
    assert "agree on 10 of 10 prompts." in to_markdown(told)
    assert "first difference" not in to_html(told)


def test_a_candidate_that_gave_no_answers_is_named_with_the_reason() -> None:
    told = record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers()}, mii={GREEDY_ERROR: "expected an answer"})
    assert "mii is not compared: expected an answer" in to_markdown(told)


def test_trials_after_the_defaults_are_not_compared() -> None:
    trials = (defaults("llamacpp", {GREEDY: answers()}), defaults("vllm", {GREEDY: answers()}, number=1))
    assert TITLE not in to_markdown(a_record(trials=trials))


def test_the_answers_are_not_shown_raw() -> None:
    told = to_html(record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers()}))
    assert "greedy:" not in told
    assert "start.token_s: 0.900" in told


def test_tokens_are_escaped() -> None:
    told = record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers(odd=1, second=EVIL)})
    assert EVIL not in to_html(told)
    assert "<script" not in to_markdown(told)
    assert not re.search(r"(?<!\\)\|x", to_markdown(told))


def test_the_summary_holds_the_same_as_data() -> None:
    told = record(llamacpp={GREEDY: answers()}, vllm={GREEDY: answers(odd=1, top={9: -0.7, 8: -0.8})})
    (pair,) = study_summary(told)["agreement"]
    assert (pair["candidates"], pair["num_compared"], pair["num_equal"]) == (["llamacpp", "vllm"], 10, 9)
    (difference,) = pair["differences"]
    sides: list[dict[str, Any]] = difference["sides"]
    assert (difference["prompt"], difference["position"], difference["is_near_tie"]) == (PROMPTS[0], 1, True)
    assert [one["token"] for one in sides] == [" eight", " nine"]
    assert sides[0]["own_probability"] is None
