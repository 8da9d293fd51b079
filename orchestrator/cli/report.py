"""`seatrial report`: a study's figures as HTML, Markdown, a block to paste, or JSON."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.cli.options import DEFAULT_STORE, Json, Store
from orchestrator.cli.output import emit_json, emit_text, say
from orchestrator.cli.recording import attachments_of
from orchestrator.domain.errors import InputError
from orchestrator.report.html import to_html
from orchestrator.report.markdown import to_markdown
from orchestrator.report.md_table import to_md_table
from orchestrator.report.summary import study_summary
from orchestrator.tracking.journal import list_studies
from orchestrator.tracking.store import Store as StoreLike
from orchestrator.tracking.store import open_store
from orchestrator.tracking.study import read_study

app = typer.Typer()

Format = Literal["html", "markdown", "md-table"]
RENDERERS = {"html": to_html, "markdown": to_markdown, "md-table": to_md_table}


@app.command()
def report(
    study_id: Annotated[str | None, typer.Argument(help="A study's id; the latest where left out.")] = None,
    *,
    store: Store = DEFAULT_STORE,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = "markdown",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of to stdout.")] = None,
    json: Json = False,
) -> None:
    """Write a study's report; a study that has not ended is marked as partial."""
    place = open_store(store)
    chosen = study_id or _latest(place)
    record = read_study(place, chosen, evidence=attachments_of(place, chosen).evidence)
    if json:
        emit_json(study_summary(record))
        return
    text = RENDERERS[form](record)
    if out is None:
        emit_text(text)
        return
    out.write_text(text, encoding="utf-8")
    say(f"wrote {out}")


def _latest(place: StoreLike) -> str:
    known = list_studies(place)
    if not known:
        raise InputError(f"{place.url}: holds no study yet; seatrial run demo makes one")
    return max(known, key=lambda name: (name.rsplit("-", 2)[1:], name))
