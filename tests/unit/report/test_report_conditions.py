import dataclasses

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.domain.cache import CacheState
from orchestrator.domain.distribution import Interval
from orchestrator.domain.records import ClientPath
from orchestrator.domain.steadiness import Steadiness
from orchestrator.domain.study_record import StudyRecord
from orchestrator.report.conditions import cache_text, calibration_text, client_text, is_unstable, window_text
from orchestrator.report.content import LATENCY_HEADS, trial_rows
from orchestrator.report.curves import draw_overlay, draw_trial
from orchestrator.report.html import to_html
from orchestrator.report.markdown import to_markdown
from orchestrator.report.md_table import to_md_table
from orchestrator.report.measurement_text import measurement_text
from orchestrator.report.numbers import milliseconds, percentile_ms, with_interval
from tests.study_builders import a_completed_trial, a_measurement, a_record
from tests.unit.report.rich_study import REASON, a_full_measurement, a_full_record, a_given_up_measurement, banded


@pytest.fixture(scope="module")
def record() -> StudyRecord:
    return a_full_record()


@pytest.fixture(scope="module")
def texts(record: StudyRecord) -> dict[str, str]:
    """Spell one study in every form."""
    terminal = "\n".join(measurement_text(one) for one in record.trials[0].measurements)
    return {
        "html": to_html(record).replace("&#34;", '"').replace("\u00a0", " "),
        "markdown": to_markdown(record),
        "block": to_md_table(record),
        "terminal": terminal,
    }


@pytest.mark.parametrize("form", ["html", "markdown", "block", "terminal"])
def test_every_form_shows_both_latencies_and_what_the_slo_is_judged_from(texts: dict[str, str], form: str) -> None:
    for text in ("from send", "from intended arrival", "The SLO is judged from intended arrival"):
        assert text in texts[form]


@pytest.mark.parametrize("form", ["html", "markdown", "block", "terminal"])
def test_every_form_says_what_the_figures_rest_on(texts: dict[str, str], form: str) -> None:
    for text in ("honest up to 6,200 requests/s", "hit ratio 20.0 %", "the policy held", "warm up for 5.6 s or more"):
        assert text in texts[form], text


@pytest.mark.parametrize("form", ["html", "markdown", "block", "terminal"])
def test_every_form_says_that_a_load_was_given_up_and_marks_its_figures(texts: dict[str, str], form: str) -> None:
    assert f"load given up after 13.2 s of its window: {REASON}" in texts[form]
    assert "unstable queue" in texts[form]
    assert "no longer offered as missed" in texts[form]


@pytest.mark.parametrize("form", ["html", "markdown", "block"])
def test_an_interval_stands_beside_its_figure(texts: dict[str, str], form: str) -> None:
    assert "75 [67.5, 82.5]" in texts[form]
    assert "1.94 [1.8, 2]" in texts[form]


def test_an_interval_stands_below_its_figure_in_a_terminal() -> None:
    lines = measurement_text(a_full_measurement(2.0)).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("TTFT from send"))
    assert lines[at].split()[3:6] == ["0.0825", "0.075", "0.15"]
    assert lines[at + 1].startswith("  95 % interval")
    assert "[0.0675, 0.0825]" in lines[at + 1]
    assert lines[at + 1].endswith("~120")


def test_a_terminal_without_intervals_stays_narrow() -> None:
    lines = measurement_text(a_measurement()).splitlines()
    table = lines[lines.index("") + 1 :]
    assert max(len(line) for line in table[: table.index("")]) <= 112
    assert "95 % interval" not in "\n".join(lines)


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_a_withheld_percentile_says_what_its_dependence_makes_it_need(texts: dict[str, str], form: str) -> None:
    assert "needs 900" in texts[form]


def test_each_load_has_a_line_from_send_and_one_from_intended_arrival() -> None:
    (row,) = trial_rows(a_record(trials=(a_completed_trial(loads=(2.0,)),)))
    assert [line[1] for line in row.loads[0].latencies] == ["from send", "from intended arrival"]
    assert [len(line) for line in row.loads[0].latencies] == [len(LATENCY_HEADS)] * 2
    assert [line[2] for line in row.loads[0].latencies] == ["75", "78.8"]


def test_what_was_not_measured_is_said_and_is_no_zero() -> None:
    plain = a_measurement(cache=CacheState(policy="natural", hit_ratio=None))
    assert calibration_text(plain) == "not measured"
    assert cache_text(plain.cache) == "natural; hit ratio not measured; nothing could be held against it"
    assert "transient" not in window_text(plain)
    assert "calibration: not measured" in measurement_text(plain)


@pytest.mark.parametrize(
    ("steadiness", "window_is_steady", "expected"),
    [
        (None, None, "too few requests to tell whether steady"),
        (Steadiness(is_steady=False, transient_s=0.0), True, "steady; what follows drifts"),
        (Steadiness(is_steady=True, transient_s=5.0), False, "drifting; its first 5 s are still transient"),
        (Steadiness(is_steady=True, transient_s=5.0), False, "what follows is steady"),
        (Steadiness(is_steady=False, transient_s=None, oversaturated_at_s=9.0), True, "unstable: 9 s in, the load"),
    ],
)
def test_a_window_says_how_steady_it_was(
    steadiness: Steadiness | None,
    window_is_steady: bool | None,  # noqa: FBT001 - a parameter of the test, passed by name
    expected: str,
) -> None:
    one = a_measurement(steadiness=steadiness, window_is_steady=window_is_steady)
    assert expected in window_text(one)
    assert "2 of 60 requests ended in the drain" in window_text(one)


def test_a_client_of_several_processes_behind_a_proxy_says_so() -> None:
    plain = a_measurement().fidelity
    text = client_text(plain.model_copy(update={"workers": 4, "path": ClientPath.PROXY}))
    assert text == "sound (dispatch lag P50 0.2 ms, P99 needs 368, 4 processes, sent by way of proxy)"


def test_a_load_that_outgrew_the_server_but_ended_is_unstable_too() -> None:
    seen = Steadiness(is_steady=False, transient_s=None, oversaturated_at_s=9.0)
    assert is_unstable(a_measurement(steadiness=seen))
    assert not is_unstable(a_measurement(steadiness=Steadiness(is_steady=False, transient_s=0.0)))
    assert "seconds, of an unstable queue" in measurement_text(a_measurement(steadiness=seen))


def test_a_percentile_that_an_unstable_queue_has_not_needs_no_number_of_requests() -> None:
    seen = Steadiness(is_steady=False, transient_s=None, oversaturated_at_s=9.0)
    record = a_record(trials=(a_completed_trial(loads=(2.0,), steadiness=seen),))
    for text in (to_markdown(record), to_md_table(record), measurement_text(record.trials[0].measurements[0])):
        assert "unstable" in text
    table = to_markdown(record).split("## Measurements")[1].split("What was not measured")[0]
    assert "needs 368" not in table.split("| client |")[0]
    assert percentile_ms(banded(0.1), "p99", is_unstable=True) == "unstable"


def test_an_interval_of_nothing_is_nothing() -> None:
    assert with_interval(None, Interval(low=0, high=1), milliseconds) == "-"
    assert percentile_ms(banded(0.1, count=5), "p90") == "needs 36"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """Collect what is drawn: lines by label, bars, notes."""
    seen: dict[str, list[object]] = {"lines": [], "bars": [], "notes": [], "bands": []}
    plot, bars, note, band = Axes.plot, Axes.vlines, Axes.annotate, Axes.axvline

    def spy_plot(axes: Axes, *values: object, **options: object) -> object:
        seen["lines"].append((options["label"], options.get("linestyle")))
        return plot(axes, *values, **options)

    def spy_bars(axes: Axes, at: object, low: object, high: object, **options: object) -> object:
        seen["bars"].append((list(np.asarray(at)), list(np.asarray(low)), list(np.asarray(high))))
        return bars(axes, at, low, high, **options)

    def spy_note(axes: Axes, text: str, *values: object, **options: object) -> object:
        seen["notes"].append(text)
        return note(axes, text, *values, **options)

    def spy_band(axes: Axes, at: float, **options: object) -> object:
        seen["bands"].append(at)
        return band(axes, at, **options)

    monkeypatch.setattr(Axes, "plot", spy_plot)
    monkeypatch.setattr(Axes, "vlines", spy_bars)
    monkeypatch.setattr(Axes, "annotate", spy_note)
    monkeypatch.setattr(Axes, "axvline", spy_band)
    monkeypatch.setattr(Figure, "savefig", lambda _self, buffer, **_: buffer.write(b"drawn"))
    return seen


def test_a_trials_plot_has_both_lines_and_bars_for_intervals(
    drawn: dict[str, list[object]], record: StudyRecord
) -> None:
    draw_trial(record.trials[0], slo=record.spec.slo)
    for label in ("P50 from send", "P90 from send", "P50 from intended arrival", "P90 from intended arrival"):
        assert sum(name == label for name, _ in drawn["lines"]) == 2, label
    loads, lows, highs = drawn["bars"][0]
    assert loads == [1.0, 2.0, 4.0], "an unstable queue has no interval"
    assert lows[1] == pytest.approx(67.5)
    assert highs[1] == pytest.approx(82.5)
    assert drawn["bands"].count(8.0) == 4
    assert "unstable queue" in drawn["notes"]
    assert not any("coincide" in str(note) for note in drawn["notes"])


def test_lines_that_lie_on_each_other_say_so(drawn: dict[str, list[object]]) -> None:
    one = a_full_measurement(1.0)
    same = one.model_copy(update={"ttft_from_intended_s": one.ttft_s})
    trial = dataclasses.replace(a_completed_trial(), measurements=(same,))
    draw_trial(trial)
    assert drawn["notes"].count("from send and from intended arrival coincide (within 1%)") == 1


def test_all_trials_are_laid_over_each_other_with_both_lines(
    drawn: dict[str, list[object]], record: StudyRecord
) -> None:
    draw_overlay(record.trials, slo=record.spec.slo)
    styles = [style for label, style in drawn["lines"] if label == "_"]
    assert styles == ["--"] * len(record.trials)


def test_a_given_up_load_never_attains_its_slo() -> None:
    given_up = a_given_up_measurement(2.0).model_copy(update={"slo_attainment": 1.0})
    record = a_record(trials=(dataclasses.replace(a_completed_trial(), measurements=(given_up,)),))
    (row,) = trial_rows(record)
    assert "below the lowest load" in row.cells
