"""`seatrial verify`: whether made traffic is like its trace, by its figures, and by what an engine makes of both."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_KEY_ENV, Json, KeyEnv, Model
from orchestrator.cli.output import emit_json, emit_table, emit_text, say
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.trials.remote import find_target
from orchestrator.trials.twin import Bench, TwinReplay, replay_twin
from workloads.likeness.table import Likeness, Row
from workloads.likeness.twins import verify_twin
from workloads.model import TrafficModel
from workloads.profile.whole import profile_trace
from workloads.readers import read_trace
from workloads.synthesis.profile_file import read_traffic
from workloads.trace import Trace, TraceError
from workloads.trace_window import cut_piece
from workloads.workload import LengthScale

app = typer.Typer()


@app.command()
def verify(
    trace: Annotated[Path, typer.Argument(help="The trace that the profile was made of.")],
    profile: Annotated[
        Path | None,
        typer.Argument(help="A file that `seatrial profile -o` wrote; the trace is profiled where left out."),
    ] = None,
    *,
    twins: Annotated[int, typer.Option(min=0, help="Further twins, which tell the noise of the making.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the twin that is judged.")] = 0,
    url: Annotated[str | None, typer.Option(help="A server on which piece and twin are replayed as well.")] = None,
    model: Model = None,
    tokenizer: Annotated[Path | None, typer.Option(help="The model's tokenizer.json, for token-exact prompts.")] = None,
    start: Annotated[float, typer.Option(min=0, help="Start of the replayed piece, seconds of the trace.")] = 0.0,
    duration: Annotated[float, typer.Option(min=1, help="Length of the replayed piece, seconds.")] = 120.0,
    repeats: Annotated[int, typer.Option(min=3, help="How often the piece itself is replayed.")] = 4,
    length_factor: Annotated[float, typer.Option(min=1e-4, help="Scale input and output lengths.")] = 1.0,
    time_factor: Annotated[float, typer.Option(min=1e-3, help="Replay this much faster.")] = 1.0,
    api_key_env: KeyEnv = DEFAULT_KEY_ENV,
    json: Json = False,
) -> None:
    """Compare a trace with a twin made from its profile; exit 4 where one trait is too far off."""
    read = read_trace(trace)
    traffic = read_traffic(profile) if profile is not None else _profiled(read)
    likeness = verify_twin(read, traffic, seed=seed, num_twins=twins)
    replayed = None
    if url is not None:
        target, server = find_target(url, model=model, key=os.environ.get(api_key_env), tokenizer=tokenizer)
        lengths = LengthScale(input_factor=length_factor, output_factor=length_factor)
        bench = Bench(url, target, server, lengths, time_factor)
        replayed = replay_twin(
            cut_piece(read, start_s=start, duration_s=duration), bench, repeats=repeats, seed=seed, say=say
        )
    if json:
        emit_json({"traits": likeness.model_dump(mode="json"), "replay": replayed and replayed.to_json()})
    else:
        _print(likeness, replayed)
    failed = [row.trait for row in likeness.rows if not row.passes]
    failed += [one.figure for one in replayed.figures if not one.passes] if replayed is not None else []
    if failed:
        raise MeasurementRefusedError(f"the twin is not like its trace in: {', '.join(failed)}")


def _profiled(trace: Trace) -> TrafficModel:
    found = profile_trace(trace).traffic
    if found is None:
        raise TraceError("no request of it was answered, so lengths are unknown", advice="Give another trace")
    return found


def _print(likeness: Likeness, replayed: TwinReplay | None) -> None:
    traits = ("trait", "trace", "twin", "distance", "noise (P95)", "tolerance", "")
    emit_table(f"twin of seed {likeness.seed} against its trace", traits, [_cells(row) for row in likeness.rows])
    emit_text(
        f"Noise: how far {likeness.num_twins} twins of other seeds lie from their median; "
        "where it is above the tolerance, it is the limit."
    )
    if replayed is None:
        return
    figures = ("figure", "twin to trace", "trace to itself (P95)", "limit", "samples of twin / trace", "")
    emit_table(
        f"replayed at {replayed.url}: {replayed.repeats} times the trace, once its twin; KS distances",
        figures,
        [
            (
                one.figure,
                f"{one.twin:.3f}",
                f"{one.repeats:.3f}",
                f"{one.limit:.3f}",
                f"{one.num_twin} / {one.num_trace}",
                _word(passes=one.passes),
            )
            for one in replayed.figures
        ],
    )


def _cells(row: Row) -> tuple[object, ...]:
    unit = "%" if row.kind == "relative" else ""
    scale = 100 if row.kind == "relative" else 1

    def spell(value: float | None) -> str | None:
        return None if value is None else f"{value * scale:.3g}{unit}"

    made = None if row.made is None else f"{row.made:.4g}"
    return (
        row.trait,
        f"{row.seen:.4g}",
        made,
        spell(row.distance),
        spell(row.noise),
        spell(row.tolerance),
        _word(passes=row.passes),
    )


def _word(*, passes: bool) -> str:
    return "pass" if passes else "FAIL"
