"""`seatrial profile` as a person meets it: what it prints, where, what it writes, and how it ends."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from orchestrator.cli import profile as command
from orchestrator.cli import reading
from orchestrator.cli.portrait import draw_workload, read_profile, window_of
from orchestrator.domain.errors import InputError
from tests.traffic_builders import a_traffic_profile
from workloads.profile.model import TraceProfile
from workloads.readers import ReadOptions, read_trace
from workloads.trace import Trace, TraceError
from workloads.workload import FixedSource, ProfileSource, TraceSource, Workload

OURS = "sixteen bytes or more"
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Write 120 requests over two minutes in Azure's form."""
    rows = [
        f"2024-01-01 00:{at // 60:02d}:{at % 60:02d}.{at * 37 % 10}000000,{100 + at * 7 % 90},{1 + at * 5 % 40}"
        for at in range(120)
    ]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join([HEAD, *rows]), encoding="utf-8")
    return path


@pytest.fixture
def _quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give any trace the same figures, for tests that are not about them."""
    monkeypatch.setattr(command, "profile_trace", lambda _trace, **_given: a_traffic_profile())


def seatrial_profile(*arguments: str | Path, code: int = 0) -> Result:
    done = CliRunner().invoke(command.app, [str(one) for one in arguments], catch_exceptions=code != 0)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def seen_options(monkeypatch: pytest.MonkeyPatch) -> list[ReadOptions]:
    """Collect the options that reach the reader."""
    found: list[ReadOptions] = []

    def spy(path: Path, **given: Any) -> Trace:
        found.append(given["options"])
        return read_trace(path, **given)

    monkeypatch.setattr(command, "read_trace", spy)
    return found


def test_figures_go_to_stdout_and_progress_to_stderr(trace: Path) -> None:
    done = seatrial_profile(trace)
    assert "traffic of trace.csv" in done.stdout
    for expected in ("requests", "rate, requests/s", "Fano factor", "CV of gaps", "120 requests in"):
        assert expected in done.stdout
    assert "read as azure" in done.stderr
    assert "read as azure" not in done.stdout.splitlines()[0]
    assert "measuring 120 requests" in done.stderr


def test_json_is_the_whole_profile_and_nothing_else(trace: Path) -> None:
    profile = TraceProfile.model_validate_json(seatrial_profile(trace, "--json").stdout)
    assert profile.num_requests == 120


def test_yaml_reads_back_as_the_same_profile(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "profile.yaml"
    done = seatrial_profile(trace, "-o", out, "--json")
    assert json.loads(done.stdout) == yaml.safe_load(out.read_text(encoding="utf-8"))
    assert read_profile(out) == TraceProfile.model_validate_json(done.stdout)
    assert f"wrote {out}" in done.stderr.replace("\n", "")
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".part"] == []


def test_the_page_is_whole(trace: Path, tmp_path: Path) -> None:
    seatrial_profile(trace, "--html", tmp_path / "profile.html")
    page = (tmp_path / "profile.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "data:image/svg+xml;base64," in page


def test_the_same_seed_gives_the_same_profile_whatever_the_salt(trace: Path) -> None:
    assert (
        seatrial_profile(trace, "--json", "--seed", "3").stdout
        == seatrial_profile(trace, "--json", "--seed", "3").stdout
    )


@pytest.mark.usefixtures("_quick_figures")
def test_options_reach_the_reader(trace: Path, seen_options: list[ReadOptions]) -> None:
    seatrial_profile(trace, "--zone", "Europe/Berlin", "--max-bad-ratio", "0.25", "--keep-text", "--unit", "ms")
    (options,) = seen_options
    assert (options.zone, options.max_bad_ratio, options.keep_text, options.unit) == ("Europe/Berlin", 0.25, True, "ms")
    assert options.progress is None  # stderr is no terminal here


@pytest.mark.usefixtures("_quick_figures")
def test_the_salt_is_fresh_each_time_and_the_environment_fixes_it(
    trace: Path, seen_options: list[ReadOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(command.SALT, raising=False)
    seatrial_profile(trace)
    seatrial_profile(trace)
    monkeypatch.setenv(command.SALT, OURS)
    done = seatrial_profile(trace, "--json")
    first, second, given = (one.salt for one in seen_options)
    assert first != second
    assert len(first) == 32
    assert given == OURS.encode()
    assert OURS not in done.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--map", "prompt_tokens"), "expected ours=theirs"),
        (("--map", "arrival=t", "--map", "arrival=u"), "mapped to t already"),
        (("--latency", "0.1,0.2"), "base_s,per_input_token_s,per_output_token_s"),
        (("--latency", "0.1,-1,0"), "seconds of at least 0"),
        (("--latency", "0.1,nan,0"), "seconds of at least 0"),
        (("-o", "/nowhere/profile.yaml"), "its folder does not exist"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_read(
    trace: Path, arguments: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "read_trace", never)
    done = seatrial_profile(trace, *arguments, code=1)
    assert isinstance(done.exception, InputError)
    assert expected in str(done.exception)


def never(*_: object, **__: object) -> Trace:
    raise AssertionError("read although an option was wrong")


def test_the_trace_is_never_written_over(trace: Path) -> None:
    before = trace.read_bytes()
    done = seatrial_profile(trace, "-o", trace, code=1)
    assert "the trace itself" in str(done.exception)
    assert trace.read_bytes() == before


def test_an_unknown_unit_and_ratio_are_usage_errors(trace: Path) -> None:
    assert "'min'" in seatrial_profile(trace, "--unit", "min", code=2).output
    seatrial_profile(trace, "--max-bad-ratio", "2", code=2)


def test_a_trace_that_cannot_be_read_ends_with_its_reason(tmp_path: Path) -> None:
    done = seatrial_profile(tmp_path / "nowhere.csv", code=1)
    assert isinstance(done.exception, TraceError)
    assert done.stdout == ""


def test_interruption_ends_with_one_line_and_130(trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(*_: object, **__: object) -> Trace:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "read_trace", interrupt)
    done = seatrial_profile(trace, "-o", tmp_path / "profile.yaml", code=130)
    assert done.stderr == "stopped before the end\n"
    assert done.stdout == ""
    assert not (tmp_path / "profile.yaml").exists()


def test_a_salt_that_can_be_guessed_is_refused(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(command.SALT, "pepper")
    done = seatrial_profile(trace, code=1)
    assert "at least 16 bytes" in str(done.exception)


def test_a_shareable_trace_reads_back_with_the_same_figures(trace: Path, tmp_path: Path) -> None:
    done = seatrial_profile(trace, "--anonymise", tmp_path / "shared.parquet", "--json")
    shared = read_trace(tmp_path / "shared.parquet")
    assert shared.arrival_ns.tolist() == read_trace(trace).arrival_ns.tolist()
    assert shared.digest == json.loads(done.stdout)["digest"]


def test_stated_latencies_give_requests_in_flight(trace: Path) -> None:
    stated = TraceProfile.model_validate_json(seatrial_profile(trace, "--json", "--latency", "5,0,0").stdout)
    assert stated.concurrency is not None
    assert stated.concurrency.source == "stated"
    assert stated.concurrency.peak == pytest.approx(5, abs=2)
    assert TraceProfile.model_validate_json(seatrial_profile(trace, "--json").stdout).concurrency is None


def test_markup_in_a_files_name_is_printed_as_it_is(trace: Path) -> None:
    odd = trace.rename(trace.with_name("[red]x[blue].csv"))
    assert "[red]x[blue].csv" in seatrial_profile(odd).stdout


def test_on_a_terminal_a_bar_shows_bytes_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(reading, "progress_console", lambda: console)
    with reading.watch_reading(Path("big[1].csv")) as watch:
        assert watch is not None
        watch(500_000, 2_000_000)
    assert "reading big[1].csv" in screen.getvalue()
    assert "0.5/2.0 MB" in screen.getvalue()


def test_a_study_draws_the_window_that_it_replays(trace: Path) -> None:
    drawn = draw_workload(Workload(source=TraceSource(path=trace, start_s=20, duration_s=60)))
    assert {"length_ccdf.png", "arrival_rate.png"} <= set(drawn)
    assert all(data.startswith(b"\x89PNG") for data in drawn.values())
    part = window_of(read_trace(trace), TraceSource(path=trace, start_s=20, duration_s=60))
    assert (len(part), int(part.arrival_ns[0])) == (60, 0)
    assert "60 of 120 requests" in part.facts.notes[-1]


def test_a_study_draws_the_profile_that_it_replays(trace: Path, tmp_path: Path) -> None:
    seatrial_profile(trace, "-o", tmp_path / "profile.yaml")
    drawn = draw_workload(Workload(source=ProfileSource(path=tmp_path / "profile.yaml")))
    assert "length_ccdf.png" in drawn
    assert "gaps.png" not in drawn


def test_traffic_that_cannot_be_drawn_says_why_and_made_traffic_has_no_pictures(tmp_path: Path) -> None:
    drawn = draw_workload(Workload(source=TraceSource(path=tmp_path / "gone.csv")))
    assert list(drawn) == ["not_drawn.txt"]
    assert b"gone.csv" in drawn["not_drawn.txt"]
    (tmp_path / "other.yaml").write_text("a: 1", encoding="utf-8")
    other = draw_workload(Workload(source=ProfileSource(path=tmp_path / "other.yaml")))
    assert b"expected a profile" in other["not_drawn.txt"]
    assert draw_workload(Workload(source=FixedSource(input_tokens=8, output_tokens=4))) == {}
