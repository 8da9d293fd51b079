import dataclasses

from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.report.html import to_html
from orchestrator.report.markdown import to_markdown
from orchestrator.report.resolved import resolved_rows
from tests.study_builders import a_record, a_trial


def trial(label: str, number: int = 0, engine: str = "vllm", **resolved: str) -> TrialRecord:
    facts = {f"resolved.{name}": value for name, value in resolved.items()}
    spec = a_trial(number, engine=engine, candidate=label)
    return TrialRecord(spec, facts, measurements=(), outcome=None, times=None)


def record_of(*trials: TrialRecord) -> StudyRecord:
    return dataclasses.replace(a_record(), trials=trials)


def test_only_what_two_candidates_of_one_engine_resolved_differently_is_listed() -> None:
    record = record_of(
        trial("own server", max_num_seqs="256", dtype="torch.bfloat16"),
        trial("in Serve", max_num_seqs="128", dtype="torch.bfloat16"),
    )
    assert resolved_rows(record) == [("vllm", "max_num_seqs", "own server: 256; in Serve: 128")]


def test_a_setting_that_one_of_them_does_not_tell_is_said() -> None:
    record = record_of(trial("a", block_size="128"), trial("b", dtype="auto"))
    assert [row[2] for row in resolved_rows(record)] == ["a: 128; b: not told", "a: not told; b: auto"]


def test_other_engines_and_later_trials_are_not_compared() -> None:
    record = record_of(trial("a", n="1"), trial("b", engine="other", n="2"), trial("a", 1, n="3"))
    assert resolved_rows(record) == []


def test_both_reports_show_the_table() -> None:
    record = record_of(trial("a", max_num_seqs="256"), trial("b", max_num_seqs="128"))
    for text in (to_markdown(record), to_html(record)):
        assert "What the engines resolved differently" in text
        assert "a: 256; b: 128" in text
    assert "What the engines resolved differently" not in to_markdown(record_of(trial("a", max_num_seqs="256")))
