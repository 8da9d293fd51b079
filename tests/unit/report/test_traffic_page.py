import re
from html.parser import HTMLParser

import numpy as np
import pytest

from orchestrator.report.traffic import page as page_module
from orchestrator.report.traffic.key_figures import key_figures
from orchestrator.report.traffic.page import render_profile
from orchestrator.report.traffic.sentences import advice, describe, duration, opening
from orchestrator.report.traffic.tables import topic_tables
from tests.traffic_builders import NUM_REQUESTS, a_distribution, a_spectrum, a_trace, a_traffic_profile
from workloads.profile.model import TraceProfile

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "to_inline", lambda _: "data:image/svg+xml;base64,AAAA")


def parse(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return render_profile(a_traffic_profile(), a_trace())


def test_the_page_needs_nothing_else(page: str) -> None:
    tags = parse(page)
    assert tags.open == []
    assert not [tag for tag, _ in tags.seen if tag in {"script", "link", "iframe", "object"}]
    addresses = [value or "" for _, held in tags.seen for key, value in held.items() if key in {"src", "href"}]
    assert addresses
    assert all(one.startswith("data:image/svg+xml;base64,") for one in addresses)
    assert not re.search(r"@import|url\(", page)


def test_the_page_opens_with_words_then_figures_then_how_they_were_made(page: str) -> None:
    order = ("What this traffic is", "A Poisson process whose rate drifts.", "What to look at first", "prefix reuse")
    places = [page.index(one) for one in (*order, "Key figures", "<img", "Tables", "How each figure was made")]
    assert places == sorted(places)


def test_absent_pictures_have_one_line_that_says_why(page: str) -> None:
    assert page.count("Not drawn: ") == 1
    assert "Not drawn: single service times are not at hand" in page


def test_every_picture_has_words_for_those_who_do_not_see_it(page: str) -> None:
    assert all(held.get("alt") for tag, held in parse(page).seen if tag == "img")


@pytest.mark.usefixtures("_no_drawing")
def test_what_comes_from_a_file_is_escaped() -> None:
    hostile = a_traffic_profile(
        source=HOSTILE,
        format=HOSTILE,
        notes=(HOSTILE,),
        dropped={HOSTILE: 3},
        input_distribution=a_distribution(notes=(HOSTILE,)),
        output_distribution=None,
        spectrum=a_spectrum(frequency_hz=(), density=(), notes=(HOSTILE,)),
    )
    page = render_profile(hostile, a_trace())
    assert "<script" not in page
    assert "onerror=alert(1)>" not in page
    assert page.count("&lt;script&gt;") >= 5
    assert parse(page).open == []


@pytest.mark.usefixtures("_no_drawing")
def test_a_profile_without_its_trace_is_a_page_too() -> None:
    assert "profile the trace to see them" in render_profile(a_traffic_profile(), None)


@pytest.mark.usefixtures("_no_drawing")
def test_a_profile_with_no_evidence_is_a_page_of_reasons() -> None:
    bare = bare_profile()
    page = render_profile(bare, None)
    assert "<img" in page  # the arrival rate and the Fano factors are still there
    assert "None" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", page)
    assert "No trait stands out" in page


def bare_profile() -> TraceProfile:
    return a_traffic_profile(
        answered_input_tokens=None,
        answered_output_tokens=None,
        input_distribution=None,
        output_distribution=None,
        dependence=None,
        spectrum=None,
        prefix=None,
        sessions=None,
        clients=None,
        concurrency=None,
        traits=(),
        num_failed=NUM_REQUESTS,
    )


def test_what_was_not_measured_is_a_dash_and_never_0() -> None:
    figures = key_figures(bare_profile())
    for name, value in figures.items():
        if "tokens" in name or "correlation" in name or name == "periods":
            assert value == "-"
    assert "clients" not in figures


def test_tables_have_as_many_cells_as_heads() -> None:
    tables = topic_tables(a_traffic_profile(num_failed=2, dropped={"cut off": 3}))
    assert len(tables) == 12
    for table in tables:
        assert all(len(row) == len(table.heads) for row in table.rows)


def test_a_fit_to_a_sample_says_so() -> None:
    sampled = a_distribution(num_fitted=500)
    notes = [one.note for one in topic_tables(a_traffic_profile(input_distribution=sampled)) if "input" in one.title]
    assert notes == ["fitted to a sample of 500"]


def test_sentences_carry_the_figures_they_speak_of() -> None:
    said = "\n".join(describe(a_traffic_profile()))
    for expected in (
        "median 400 tokens",
        "KS distance of 0.02, bootstrap p 0.3",
        "22 requests (1.1 %) were cut at 4,000 tokens",
        "power law? no: the lognormal is likelier",
        "rank correlation of 0.310 (95 % between 0.270 and 0.350)",
        "repeat every 60 s, seen 16.6 times",
        "41.0 % of input tokens",
        "900 sessions, 40.0 % of more than one turn",
        "30 clients: the busiest sends 40.0 %",
        "(measured service times): mean 6",
    ):
        assert expected in said


def test_no_period_is_said_where_none_is_named() -> None:
    said = describe(a_traffic_profile(spectrum=a_spectrum(peaks=())))
    assert any("No period is named" in one for one in said)
    assert not any("period" in one.lower() for one in describe(a_traffic_profile(spectrum=None)))


def test_the_opening_counts_what_failed_and_what_was_left_out() -> None:
    said = opening(a_traffic_profile(num_failed=17, dropped={"cut off": 1, "no time": 2}))
    assert said == (
        "2,000 requests in 16 min 40 s (2 requests/s), read as by hand; 17 failed at the source; "
        "3 rows of the file are left out."
    )
    assert "1 request in 0 s (all at one instant)" in opening(
        a_traffic_profile(num_requests=1, span_s=0.0, rate_rps=None)
    )


def test_advice_names_trait_figures_and_technique() -> None:
    (trait,) = a_traffic_profile().traits
    assert advice(trait) == (
        "shared beginnings (token reuse ratio = 0.41): look first at prefix reuse; kind of engine: prefix cache"
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.25, "0.25 s"),
        (60, "60 s"),
        (3599.7, "60 min"),
        (3600, "60 min"),
        (90000, "25 h"),
        (86400 * 8, "8 days"),
    ],
)
def test_durations_are_spelled_in_two_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.usefixtures("_no_drawing")
def test_a_trace_of_one_request_is_a_page() -> None:
    one = a_traffic_profile(
        num_requests=1,
        span_s=0.0,
        rate_rps=None,
        input_distribution=a_distribution(num_requests=1),
        output_distribution=None,
        spectrum=None,
    )
    trace = a_trace(2)
    single = type(trace)(trace.rows.head(1), trace.facts)
    assert np.array_equal(single.arrival_ns, [0])
    assert "Not drawn: " in render_profile(one, single)
