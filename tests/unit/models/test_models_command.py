import json

from typer.testing import CliRunner

from orchestrator.cli.models import app
from orchestrator.models import KNOWN


def test_known_models_are_listed_with_licence_and_variants() -> None:
    shown = CliRunner().invoke(app, ["list", "--json"])
    assert shown.exit_code == 0
    rows = {row["name"]: row for row in json.loads(shown.stdout)}
    assert set(rows) == set(KNOWN)
    assert rows["smollm2-135m"]["licence"] == "Apache-2.0"
    assert rows["smollm2-135m"]["variants"] == "q4_1, bf16, q8_0, bf16-hf"


def test_the_random_model_is_listed_as_random() -> None:
    shown = CliRunner().invoke(app, ["list", "--json"])
    row = next(row for row in json.loads(shown.stdout) if row["name"] == "tiny-llama-8h")
    assert "RANDOM" in row["what"]
    assert "random" in row["licence"]
