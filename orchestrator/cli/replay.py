"""`seatrial replay`: measure a server that is already there."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.cli.options import DEFAULT_KEY_ENV, Json, KeyEnv, Model
from orchestrator.cli.output import emit_text, say
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.slo import Slo
from orchestrator.domain.study import WindowSpec
from orchestrator.replay.files import write_records
from orchestrator.report.measurement_text import measurement_text
from orchestrator.trials.remote import find_target, visit
from workloads.readers import read_trace
from workloads.trace_window import cut_window
from workloads.workload import FixedSource, LengthScale, PublishedSource, Source, Stop, TraceSource, Workload

app = typer.Typer()

Pattern = Literal["constant", "poisson"]


@app.command()
def replay(
    *,
    url: Annotated[str, typer.Option(help="The server's address, such as http://127.0.0.1:8000.")],
    model: Model = None,
    tokenizer: Annotated[Path | None, typer.Option(help="The model's tokenizer.json, for token-exact prompts.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.001, help="Requests/s; a trace's own where left out.")] = None,
    users: Annotated[
        int | None, typer.Option(min=1, help="Closed loop with this many users instead of a rate.")
    ] = None,
    duration: Annotated[float, typer.Option(min=0.1, help="Length of the measured window, seconds.")] = 30.0,
    warmup: Annotated[float, typer.Option(min=0.0, help="Warm-up before the window, seconds.")] = 2.0,
    pattern: Annotated[Pattern, typer.Option(help="Arrivals of fixed-length requests.")] = "poisson",
    input_tokens: Annotated[int | None, typer.Option(min=1, help="Fixed input length.")] = None,
    output_tokens: Annotated[int | None, typer.Option(min=1, help="Fixed output length.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Replay the requests of this trace.")] = None,
    trace_start: Annotated[float, typer.Option(min=0.0, help="Start within the trace, seconds.")] = 0.0,
    workload: Annotated[str | None, typer.Option(help="A published workload, such as chat.")] = None,
    length_factor: Annotated[float, typer.Option(min=0.0001, help="Scale input and output lengths.")] = 1.0,
    max_input_tokens: Annotated[int | None, typer.Option(min=1, help="Cap on input lengths.")] = None,
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="Cap on output lengths.")] = None,
    stop: Annotated[Stop, typer.Option(help="Answers of the scheduled length, or ended by the model.")] = "forced",
    dialect: Annotated[Literal["completions", "chat"], typer.Option(help="Which route to use.")] = "completions",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same traffic.")] = 0,
    timeout: Annotated[float, typer.Option(min=0.1, help="Longest a request may take, seconds.")] = 60.0,
    slo_ttft: Annotated[float | None, typer.Option(help="SLO: upper bound on TTFT, seconds.")] = None,
    slo_tpot: Annotated[float | None, typer.Option(help="SLO: upper bound on TPOT, seconds.")] = None,
    slo_e2e: Annotated[float | None, typer.Option(help="SLO: upper bound on E2E latency, seconds.")] = None,
    records: Annotated[Path | None, typer.Option(help="Write every request's record to this Parquet file.")] = None,
    api_key_env: KeyEnv = DEFAULT_KEY_ENV,
    json: Json = False,
) -> None:
    """Send traffic to an OpenAI-compatible server and print what was measured."""
    source = _source(
        trace=trace,
        span=(trace_start, warmup + duration),
        workload=workload,
        sizes=(input_tokens, output_tokens),
        pattern=pattern,
    )
    lengths = LengthScale(
        input_factor=length_factor,
        output_factor=length_factor,
        max_input_tokens=max_input_tokens,
        max_output_tokens=max_output_tokens,
    )
    load = _load(rate, users, source, span_s=warmup + duration)
    target, server = find_target(url, model=model, key=os.environ.get(api_key_env), tokenizer=tokenizer)
    say(f"{url}: {server} serving {target.endpoint.model}; {load} for {duration:g} s after {warmup:g} s warm-up")
    seen = visit(
        target,
        load,
        server=server,
        workload=Workload(source=source, lengths=lengths, dialect=dialect, stop=stop, seed=seed),
        window=WindowSpec(warmup_s=warmup, measure_s=duration, request_timeout_s=timeout),
        slo=_slo(slo_ttft, slo_tpot, slo_e2e),
        clock=SystemClock(),
    )
    if records is not None:
        write_records(seen.log, records)
    emit_text(seen.measurement.to_json() if json else measurement_text(seen.measurement))


def _source(
    *,
    trace: Path | None,
    span: tuple[float, float],
    workload: str | None,
    sizes: tuple[int | None, int | None],
    pattern: Pattern,
) -> Source:
    is_fixed = sizes != (None, None)
    if sum((trace is not None, workload is not None, is_fixed)) > 1:
        raise InputError("choose one of --trace, --workload, and --input-tokens with --output-tokens")
    if trace is not None:
        return TraceSource(path=trace, start_s=span[0], duration_s=span[1])
    if not is_fixed:
        return PublishedSource(name=workload or "chat")
    input_tokens, output_tokens = sizes
    if input_tokens is None or output_tokens is None:
        raise InputError("--input-tokens and --output-tokens go together")
    return FixedSource(input_tokens=input_tokens, output_tokens=output_tokens, pattern=pattern)


def _load(rate: float | None, users: int | None, source: Source, *, span_s: float) -> OfferedLoad:
    if rate is not None and users is not None:
        raise InputError("choose one of --rate (open loop) and --users (closed loop)")
    if users is not None:
        return ClosedLoad(users=users)
    if rate is not None:
        return OpenLoad(rate_rps=rate)
    if not isinstance(source, TraceSource):
        raise InputError("give --rate for an open loop or --users for a closed one")
    return OpenLoad(rate_rps=cut_window(read_trace(source.path), source, 0).rate_over(span_s))


def _slo(ttft_s: float | None, tpot_s: float | None, e2e_s: float | None) -> Slo | None:
    if ttft_s is None and tpot_s is None and e2e_s is None:
        return None
    return Slo(ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s)
