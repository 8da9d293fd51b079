"""The options of `seatrial replay`, in the order of its help."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.cli.arrival_patterns import Pattern
from workloads.workload import Stop

LOAD = "Load"
TRAFFIC = "Traffic"
WINDOW = "Window"
SERVER = "Server"
PROMISE = "Promise (SLO)"
RESULT = "Result"

Url = Annotated[str, typer.Option(help="The server's address, such as http://127.0.0.1:8000.", rich_help_panel=SERVER)]
Proxy = Annotated[
    str | None,
    typer.Option(
        help="Go through this http proxy; `env`: the environment's. Left out: straight, whatever the environment says.",
        rich_help_panel=SERVER,
    ),
]
Tokenizer = Annotated[
    Path | None,
    typer.Option(help="The model's tokenizer.json, for token-exact prompts.", rich_help_panel=SERVER),
]
MetricsUrl = Annotated[
    str | None,
    typer.Option(
        help="Its Prometheus metrics; left out: its /metrics, if any, for loads of 3 s and more.",
        rich_help_panel=SERVER,
    ),
]
NoMetrics = Annotated[bool, typer.Option("--no-metrics", help="Do not sample its metrics.", rich_help_panel=SERVER)]

Rate = Annotated[
    str | None,
    typer.Option(help="Requests/s, or several to walk: 1,2,4. A trace's own where left out.", rich_help_panel=LOAD),
]
Users = Annotated[
    str | None,
    typer.Option(help="Closed loop with this many users, or several to walk: 1,8.", rich_help_panel=LOAD),
]
RampRate = Annotated[
    str | None,
    typer.Option(
        "--ramp", help="Rate from FIRST to LAST over the window: 1:20, or 1:20:5 in 5 steps.", rich_help_panel=LOAD
    ),
]
ArrivalPattern = Annotated[
    Pattern | None,
    typer.Option(help="Arrivals; left out: those of the workload.", rich_help_panel=LOAD),
]
Cv = Annotated[
    float | None,
    typer.Option(help="Coefficient of variation of gaps, for gamma and weibull.", rich_help_panel=LOAD),
]

Workers = Annotated[
    int | None, typer.Option(min=1, help="Client processes that send; one where left out.", rich_help_panel=LOAD)
]
Cpus = Annotated[
    str | None, typer.Option(help="Cores of the client, such as 0 or 0,1; any where left out.", rich_help_panel=LOAD)
]

StayAwake = Annotated[
    bool,
    typer.Option(
        "--stay-awake", help="Burn the cores of --cpus, with nothing else on them, to be exact.", rich_help_panel=LOAD
    ),
]

WorkloadName = Annotated[
    str | None,
    typer.Option(help="A published workload, or a file of `synth -o` or `profile -o`.", rich_help_panel=TRAFFIC),
]
TraceFile = Annotated[
    Path | None,
    typer.Option(help="Replay the requests of this trace, in any form that is read.", rich_help_panel=TRAFFIC),
]
TraceStart = Annotated[float, typer.Option(min=0.0, help="Start within the trace, seconds.", rich_help_panel=TRAFFIC)]
InputTokens = Annotated[int | None, typer.Option(min=1, help="Fixed input length.", rich_help_panel=TRAFFIC)]
OutputTokens = Annotated[int | None, typer.Option(min=1, help="Fixed output length.", rich_help_panel=TRAFFIC)]
LengthFactor = Annotated[
    float | None, typer.Option(min=0.0001, help="Scale input and output lengths.", rich_help_panel=TRAFFIC)
]
MaxInputTokens = Annotated[int | None, typer.Option(min=1, help="Cap on input lengths.", rich_help_panel=TRAFFIC)]
MaxOutputTokens = Annotated[int | None, typer.Option(min=1, help="Cap on output lengths.", rich_help_panel=TRAFFIC)]
StopRule = Annotated[
    Stop | None,
    typer.Option("--stop", help="Answers of the scheduled length, or ended by the model.", rich_help_panel=TRAFFIC),
]
Route = Annotated[
    Literal["completions", "chat"] | None, typer.Option("--dialect", help="Which route.", rich_help_panel=TRAFFIC)
]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same traffic.", rich_help_panel=TRAFFIC)]

Duration = Annotated[
    float | None,
    typer.Option(min=0.1, help="Length of the measured window, seconds; 30.", rich_help_panel=WINDOW),
]
Requests = Annotated[
    int | None,
    typer.Option(min=1, help="End the window after so many requests.", rich_help_panel=WINDOW),
]
Warmup = Annotated[
    float | None,
    typer.Option(
        min=0.0, help="Before the window, seconds; 2, none with --requests or --ramp.", rich_help_panel=WINDOW
    ),
]
KeepGoing = Annotated[
    bool,
    typer.Option("--keep-going", help="Do not give up a load that has outgrown the server.", rich_help_panel=WINDOW),
]
Drain = Annotated[float, typer.Option(min=0.1, help="Longest wait for last answers, seconds.", rich_help_panel=WINDOW)]
Timeout = Annotated[
    float, typer.Option(min=0.1, help="Longest that a request may take, seconds.", rich_help_panel=WINDOW)
]

SloTtft = Annotated[float | None, typer.Option(help="Upper bound on TTFT, seconds.", rich_help_panel=PROMISE)]
SloTpot = Annotated[float | None, typer.Option(help="Upper bound on TPOT, seconds.", rich_help_panel=PROMISE)]
SloE2e = Annotated[float | None, typer.Option(help="Upper bound on E2E latency, seconds.", rich_help_panel=PROMISE)]
SloAttainment = Annotated[
    float, typer.Option(min=0.0001, max=1.0, help="Share of requests that must meet it.", rich_help_panel=PROMISE)
]

Records = Annotated[
    Path | None,
    typer.Option(help="Write the requests' records, as Parquet: a file, or a folder.", rich_help_panel=RESULT),
]
Mlflow = Annotated[
    str | None,
    typer.Option("--mlflow", help="Record in MLflow at this address.", rich_help_panel=RESULT),
]
RecordStore = Annotated[
    str | None,
    typer.Option("--store", help="Record in this store: a folder or URI, as studies do.", rich_help_panel=RESULT),
]
