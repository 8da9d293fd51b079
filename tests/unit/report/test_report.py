import dataclasses
import re
from html.parser import HTMLParser

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.domain.fidelity import Fidelity, Verdict
from orchestrator.domain.outcome import Failed, Infeasible
from orchestrator.domain.runner import TrialTimes
from orchestrator.domain.study_record import StudyRecord, TrialRecord
from orchestrator.report.content import unmeasured
from orchestrator.report.html import to_html
from orchestrator.report.markdown import to_markdown
from orchestrator.report.md_table import to_md_table
from tests.study_builders import a_completed_trial, a_distribution, a_measurement, a_record, a_study, a_trial

EVIL = "<script>alert(1)</script>|x"


class _Page(HTMLParser):
    """Collects tags and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "srcset", "action"}]


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(a_record())


def _evil_record() -> StudyRecord:
    trial = a_trial(1, assignment={EVIL: EVIL}, config={})
    failed = TrialRecord(trial, {EVIL: EVIL}, (a_measurement(),), Failed(EVIL), TrialTimes(1.0, 0.0, 0.0))
    return a_record(trials=(failed,), tags={EVIL: EVIL}, versions={EVIL: EVIL}, notes=(EVIL,), study_id=EVIL)


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    parsed = _Page()
    parsed.feed(page)
    assert "img" in parsed.tags
    assert all(address.startswith(("data:image/svg+xml;base64,", "#")) for address in parsed.addresses)
    assert not {"script", "link", "iframe", "object"} & set(parsed.tags)
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_page_shows_every_trial_with_its_outcome_and_reason(page: str) -> None:
    for text in ("completed", "infeasible", "n_parallel: seen 4", "failed", "engine hung", "n_parallel=2"):
        assert text in page


def test_every_link_leads_somewhere(page: str) -> None:
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets
    assert targets <= set(re.findall(r'id="([^"]+)"', page))


def test_names_are_escaped_in_every_form() -> None:
    record = _evil_record()
    html = to_html(record)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    for text in (to_markdown(record), to_md_table(record)):
        assert "<script" not in text
        assert not re.search(r"(?<!\\)\|x", text), "a name must not break a table's cell"


def test_a_thin_percentile_says_how_many_requests_it_needs(page: str) -> None:
    assert "needs 368" in page
    assert "needs 368" in to_markdown(a_record())
    assert any(line.startswith("P99 of TTFT: at 6 of 6 loads") for line in unmeasured(a_record()))


def test_a_percentile_that_the_sample_carries_is_shown() -> None:
    one = a_measurement(ttft_s=a_distribution(0.05, count=2000))
    record = a_record(trials=(TrialRecord(a_trial(), {}, (one,), None, None),))
    assert "| 200 |" in to_markdown(record)
    assert not any("P99 of" in line for line in unmeasured(record))


@pytest.mark.parametrize("changes", [{"ended_at": None}, {"trials": (TrialRecord(a_trial(), {}, (), None, None),)}])
def test_an_unfinished_study_is_marked_partial(changes: dict[str, object]) -> None:
    assert "Partial" in to_html(a_record(**changes))
    assert "Partial" in to_markdown(a_record(**changes))


def test_a_finished_study_is_not_marked(page: str) -> None:
    for word in ("Partial.", "Simulated.", "Not every figure"):
        assert word not in page


def test_simulated_and_unsound_figures_are_said_first() -> None:
    fidelity = a_measurement().fidelity
    late = Fidelity(**(fidelity.model_dump() | {"verdict": Verdict.DEGRADED, "reasons": ("dispatch lag",)}))
    record = a_record(trials=(a_completed_trial(is_simulated=True, fidelity=late),))
    for text in (to_html(record), to_markdown(record), to_md_table(record)):
        assert "Simulated" in text
        assert "Not every figure is sound" in text
    assert "degraded: dispatch lag" in to_html(record)
    assert "degraded at 1 requests/s, 2 requests/s, 4 requests/s" in to_md_table(record)


def test_the_block_to_paste_names_what_a_figure_depends_on() -> None:
    block = to_md_table(a_record())
    for text in ("capacity | 2 requests/s", "TTFT at most 500 ms", "engine.llamacpp | b1234", "hardware.cpu | 2 cores"):
        assert text in block
    for text in ("client | sound", f"study {a_record().digest}", "schedule cafe0123"):
        assert text in block


def test_the_block_shows_the_best_trial_or_the_one_asked_for() -> None:
    assert "n_parallel=2" in to_md_table(a_record())
    assert "llamacpp: defaults" in to_md_table(a_record(), trial="0")
    assert "llamacpp: defaults" in to_md_table(a_record(), trial=a_trial(0).trial_id)
    with pytest.raises(InputError, match="no measured trial named 3"):
        to_md_table(a_record(), trial="3")


def test_a_number_that_two_engines_share_is_asked_back() -> None:
    other = dataclasses.replace(a_completed_trial(0), trial=a_trial(0, engine="vllm"))
    with pytest.raises(InputError, match="2 trials named 0"):
        to_md_table(a_record(trials=(a_completed_trial(0), other)), trial="0")


def test_a_study_without_figures_still_reports() -> None:
    infeasible = TrialRecord(a_trial(1), {}, (), Infeasible("does not fit"), TrialTimes(0.1, 0.0, 0.0))
    record = a_record(trials=(infeasible,), spec=a_study(slo=None, search={"objective": "requests_per_s"}))
    assert "does not fit" in to_html(record)
    assert "none stated" in to_markdown(record)
    with pytest.raises(InputError, match="measured: none"):
        to_md_table(record)
