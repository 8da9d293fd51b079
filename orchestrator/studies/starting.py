"""Writes a first study for a server that is already there, every default visible."""

import yaml

from orchestrator.domain.study import StudySpec

HEADER = """\
# A first study, written from what was found at {url}: {kind}, serving {model}.
# Every key stands here with its default; delete what you do not want to fix. `seatrial plan` shows what it would do.
"""


def starting_study(*, url: str, kind: str, model: str, engine: str | None, has_metrics: bool) -> str:
    """Spell a study as YAML for an engine of the kind that was found; llama.cpp where the kind has no adapter yet."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in model.rpartition("/")[2])
    spec = StudySpec.model_validate(
        {
            "name": f"first-{name.strip('.-_') or 'study'}"[:80],
            "model": {"name": model, "variant": "bf16"},
            "engines": [{"name": engine or "llamacpp"}],
            "load": {"rates_rps": [1, 2, 4]},
            "slo": {"ttft_s": 2.0, "tpot_s": 0.1, "attainment": 0.9},
        }
    )
    notes = HEADER.format(url=url, kind=kind, model=model)
    if engine is None:
        notes += f"# There is no adapter for {kind} yet; the study names llamacpp instead.\n"
    if not has_metrics:
        notes += "# The server has no /metrics: queue and KV-cache figures would be missing.\n"
    return notes + yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
