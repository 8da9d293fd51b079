import dataclasses
import io

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from orchestrator.domain.fidelity import Verdict
from orchestrator.domain.load import ClosedLoad
from orchestrator.domain.outcome import Completed
from orchestrator.domain.study_record import TrialEvidence, TrialRecord
from orchestrator.domain.telemetry import Series, Telemetry
from orchestrator.report.curves import draw_overlay, draw_trial
from orchestrator.report.plots import trial_plots
from orchestrator.report.timelines import draw_memory
from tests.study_builders import a_completed_trial, a_distribution, a_measurement, a_study, a_trial


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[float]]]:
    """Collect what is drawn, by label."""
    drawn: dict[str, list[list[float]]] = {}
    plot = Axes.plot

    def spy(axes: Axes, x: object, y: object, **options: object) -> object:
        drawn.setdefault(str(options["label"]), []).append([float(value) for value in np.asarray(y)])
        return plot(axes, x, y, **options)

    monkeypatch.setattr(Axes, "plot", spy)
    return drawn


def test_a_trial_has_its_pictures_as_png() -> None:
    plots = trial_plots(a_completed_trial(), slo=a_study().slo)
    assert set(plots) == {"throughput_latency.png", "memory.png", "processor.png"}
    for data in plots.values():
        height, width = imread(io.BytesIO(data)).shape[:2]
        assert width > 900
        assert height > 250


def test_what_was_not_measured_has_no_picture() -> None:
    nothing = TrialRecord(a_trial(), {}, (), None, None)
    assert trial_plots(nothing) == {}
    assert draw_memory(nothing) is None


def test_a_percentile_that_the_sample_does_not_carry_is_a_gap(lines: dict[str, list[list[float]]]) -> None:
    measurements = (
        a_measurement(1.0),
        a_measurement(2.0, ttft_s=a_distribution(0.08, count=5)),
        a_measurement(4.0),
    )
    draw_trial(TrialRecord(a_trial(), {}, measurements, Completed(measurements, 1.0), None))
    ttft_p90_ms = lines["P90 from send"][0]
    assert np.isnan(ttft_p90_ms[1])
    assert ttft_p90_ms[0] == pytest.approx(112.5)
    assert not np.isnan(lines["P50 from send"][0]).any()


def test_loads_are_drawn_in_order_whatever_the_order_of_the_walk(lines: dict[str, list[list[float]]]) -> None:
    draw_trial(a_completed_trial(loads=(4.0, 1.0, 2.0)))
    assert lines["offered"][0] == [1.0, 2.0, 4.0]


def test_a_closed_loop_has_no_offered_rate(lines: dict[str, list[list[float]]]) -> None:
    measurements = tuple(a_measurement(ClosedLoad(users=users)) for users in (1, 2))
    draw_trial(TrialRecord(a_trial(), {}, measurements, None, None))
    assert "offered" not in lines
    assert "achieved (sent)" in lines


def test_missing_samples_are_a_gap_in_time(lines: dict[str, list[list[float]]]) -> None:
    times_ns = np.array([0, 1, 2, 20, 21], dtype=np.int64) * 200_000_000
    series = Series("host_memory_bytes", "bytes", times_ns, np.ones(5) * 2**20)
    trial = dataclasses.replace(a_completed_trial(), evidence=TrialEvidence(Telemetry((series,), 0.2), (), 0))
    draw_memory(trial)
    (values,) = lines["host_memory_bytes"]
    assert [np.isnan(value) for value in values] == [False, False, False, True, False, False]


def test_every_device_has_its_line(lines: dict[str, list[list[float]]]) -> None:
    times_ns = np.arange(3, dtype=np.int64)
    names = ("device_memory_bytes.0", "device_memory_bytes.1", "device_memory_bytes_free")
    series = tuple(Series(name, "bytes", times_ns, np.ones(3)) for name in names)
    trial = dataclasses.replace(a_completed_trial(), evidence=TrialEvidence(Telemetry(series, 0.2), (), 0))
    draw_memory(trial)
    assert set(lines) == {"device_memory_bytes.0", "device_memory_bytes.1"}


def test_simulated_figures_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[str] = []
    monkeypatch.setattr("matplotlib.figure.Figure.suptitle", lambda _self, text, **_: titles.append(text))
    draw_trial(a_completed_trial(is_simulated=True))
    draw_memory(a_completed_trial(is_simulated=True))
    draw_overlay([a_completed_trial(0), a_completed_trial(1, is_simulated=True)])
    draw_trial(a_completed_trial())
    assert [title.startswith("SIMULATED") for title in titles] == [True, True, True, False]


def test_equal_figures_give_equal_bytes() -> None:
    assert draw_trial(a_completed_trial(), fmt="svg") == draw_trial(a_completed_trial(), fmt="svg")


def test_a_load_that_the_client_calls_invalid_is_not_drawn(lines: dict[str, list[list[float]]]) -> None:
    sound = a_measurement(4.0).fidelity
    invalid = sound.model_copy(update={"verdict": Verdict.INVALID, "reasons": ("the client was late",)})
    measurements = (a_measurement(1.0), a_measurement(2.0, fidelity=invalid), a_measurement(4.0))
    draw_trial(TrialRecord(a_trial(), {}, measurements, None, None))
    assert lines["offered"][0] == [1.0, 4.0]
