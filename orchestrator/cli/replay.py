"""`seatrial replay`: measure a server that is already there, at one load or several."""

import os

import typer

from orchestrator.cli import replay_options as options
from orchestrator.cli.arrival_patterns import with_arrivals
from orchestrator.cli.offered_loads import loads_of, parse_ramp
from orchestrator.cli.offered_traffic import changed, choose_workload, scaled
from orchestrator.cli.options import DEFAULT_KEY_ENV, Json, KeyEnv, Model
from orchestrator.cli.replay_plan import ReplayPlan, chosen_proxy, settle, slo_of, window_of
from orchestrator.cli.replay_walk import Output, client_of, walk, watching
from orchestrator.trials.remote import find_target

app = typer.Typer()


@app.command()
def replay(
    *,
    url: options.Url,
    model: Model = None,
    api_key_env: KeyEnv = DEFAULT_KEY_ENV,
    proxy: options.Proxy = None,
    tokenizer: options.Tokenizer = None,
    metrics_url: options.MetricsUrl = None,
    no_metrics: options.NoMetrics = False,
    rate: options.Rate = None,
    users: options.Users = None,
    ramp: options.RampRate = None,
    pattern: options.ArrivalPattern = None,
    cv: options.Cv = None,
    workers: options.Workers = None,
    cpus: options.Cpus = None,
    stay_awake: options.StayAwake = False,
    workload: options.WorkloadName = None,
    trace: options.TraceFile = None,
    trace_start: options.TraceStart = 0.0,
    input_tokens: options.InputTokens = None,
    output_tokens: options.OutputTokens = None,
    length_factor: options.LengthFactor = None,
    max_input_tokens: options.MaxInputTokens = None,
    max_output_tokens: options.MaxOutputTokens = None,
    stop: options.StopRule = None,
    dialect: options.Route = None,
    seed: options.Seed = None,
    duration: options.Duration = None,
    requests: options.Requests = None,
    warmup: options.Warmup = None,
    keep_going: options.KeepGoing = False,
    drain: options.Drain = 30.0,
    timeout: options.Timeout = 60.0,
    slo_ttft: options.SloTtft = None,
    slo_tpot: options.SloTpot = None,
    slo_e2e: options.SloE2e = None,
    slo_attainment: options.SloAttainment = 0.9,
    records: options.Records = None,
    mlflow: options.Mlflow = None,
    store: options.RecordStore = None,
    json: Json = False,
) -> None:
    """Send traffic to an OpenAI-compatible server and print what was measured; exit 4 where it must not be used."""
    slope = parse_ramp(ramp)
    window = window_of(
        duration,
        warmup,
        drain_s=drain,
        timeout_s=timeout,
        keeps_going=keep_going,
        ends_by_count=requests is not None,
        is_ramp=slope is not None,
    )
    named = choose_workload(trace=trace, workload=workload, sizes=(input_tokens, output_tokens), start_s=trace_start)
    arriving = with_arrivals(named.source, pattern, cv=cv, ramp=slope, duration_s=window.measure_s)
    lengths = scaled(named.lengths, length_factor, (max_input_tokens, max_output_tokens))
    asked = changed(named, {"source": arriving, "lengths": lengths, "stop": stop, "dialect": dialect, "seed": seed})
    slo = slo_of(slo_ttft, slo_tpot, slo_e2e, attainment=slo_attainment)
    plan = settle(ReplayPlan(asked, loads_of(rate, users, slope), window, requests, slo))
    client = client_of(workers, cpus, stays_awake=stay_awake)
    key, way = os.environ.get(api_key_env), chosen_proxy(proxy, url)
    target, server = find_target(url, model=model, key=key, tokenizer=tokenizer, proxy=way)
    with watching(target, server, plan, metrics_url=metrics_url, is_wanted=not no_metrics) as watcher:
        walk(plan, target, server, watcher=watcher, client=client, output=Output(json, records, mlflow, store))
