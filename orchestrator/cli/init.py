"""`seatrial init`: write a first study from what a running server says of itself."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_KEY_ENV, KeyEnv, Model
from orchestrator.cli.output import emit_text, say
from orchestrator.domain.errors import InputError
from orchestrator.replay.server import has_metrics
from orchestrator.studies.starting import starting_study
from orchestrator.trials.remote import find_target

app = typer.Typer()

ADAPTER_OF = {"llamacpp": "llamacpp", "simulated": "simulated"}


@app.command()
def init(
    *,
    url: Annotated[str, typer.Option(help="The server's address, such as http://127.0.0.1:8000.")],
    model: Model = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of to stdout.")] = None,
    api_key_env: KeyEnv = DEFAULT_KEY_ENV,
) -> None:
    """Write a study with every default visible for the models, engine and metrics found at a server."""
    key = os.environ.get(api_key_env)
    target, kind = find_target(url, model=model, key=key, tokenizer=None)
    text = starting_study(
        url=target.endpoint.base_url,
        kind=kind,
        model=target.endpoint.model,
        engine=ADAPTER_OF.get(kind),
        has_metrics=has_metrics(target.endpoint.base_url, key),
    )
    if out is None:
        emit_text(text)
        return
    if out.exists():
        raise InputError(f"{out}: is there already; choose another name")
    out.write_text(text, encoding="utf-8")
    say(f"wrote {out}; next: seatrial plan {out}")
