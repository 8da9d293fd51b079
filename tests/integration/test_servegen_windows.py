"""ServeGen's published windows, wherever they are at hand."""

import os
from pathlib import Path

import pytest

from workloads.model import QuantileLengths
from workloads.readers.servegen import read_windows
from workloads.readers.servegen_mix import bias_of, compose
from workloads.trace import TraceError

pytestmark = pytest.mark.traces

FOLDER = Path(os.environ.get("SEATRIAL_TRACES", Path(__file__).parents[3] / "shared" / "traces")) / "servegen"


def real(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no {name} under {FOLDER}; set SEATRIAL_TRACES to the folder of the public traces")
    return path


@pytest.mark.parametrize(("name", "clients", "share"), [("m-large", 162, 0.42), ("m-small", 43, 0.57)])
def test_the_largest_clients_have_no_lengths_and_it_is_said(name: str, clients: int, share: float) -> None:
    windows = read_windows(real(f"{name}_traces.csv.gz"))
    assert windows.windows["client_id"].n_unique() == clients
    assert windows.share_without_lengths == pytest.approx(share, abs=0.01)
    assert any("without published lengths" in note for note in bias_of(windows, 43_200, 3600))


def test_reasoning_traffic_composes_at_its_stated_rate() -> None:
    windows = read_windows(real("deepseek-r1_traces.csv.gz"))
    model = compose(windows, 43_200, 3600)
    stated = windows.windows.filter(windows.windows["window_start_s"].is_between(43_200, 46_200))["rate_rps"].sum() / 6
    assert windows.share_without_lengths == 0
    assert model.rate_rps == pytest.approx(stated)
    assert isinstance(model.output_tokens, QuantileLengths)
    assert model.output_tokens.tokens[50] > model.input_tokens.tokens[50]  # type: ignore[union-attr]


def test_traffic_with_images_is_refused() -> None:
    with pytest.raises(TraceError, match="images"):
        read_windows(real("mm-image_traces.csv.gz"))
