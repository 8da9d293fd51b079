"""Carries a replay out: its loads one after the other, each printed and written down as soon as it was measured."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.countdown import Countdown
from orchestrator.cli.offered_loads import parse_cores
from orchestrator.cli.options import DEFAULT_STORE
from orchestrator.cli.output import emit_text, say
from orchestrator.cli.replay_plan import ReplayPlan
from orchestrator.cli.replay_result import emit_loads, records_path, refuse_useless
from orchestrator.domain.clock import SystemClock, utc_now
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad
from orchestrator.replay.proxy import parse_proxy
from orchestrator.trials.remote import Visit, Watcher, visit
from orchestrator.trials.traffic import Target

LEAST_SAMPLED_S = 3.0  # five looks a second: fewer than fifteen say little of a mean


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go besides the terminal; MLflow is told where an address or a store is named."""

    json: bool
    records: Path | None
    mlflow: str | None
    store: str | None


@dataclass(frozen=True, slots=True)
class Client:
    """How many processes send, and on which cores (None leaves both to the client), which they may burn."""

    workers: int | None = None
    cpus: tuple[int, ...] | None = None
    stays_awake: bool = False


def client_of(workers: int | None, cpus: str | None, *, stays_awake: bool) -> Client:
    """Return the client that a person asks for.

    Raises:
        InputError: the cores cannot be read, or it is to burn cores that are not named.
    """
    if stays_awake and cpus is None:
        raise InputError("--stay-awake burns the client's cores; name them with --cpus, and run nothing else on them")
    return Client(workers, parse_cores(cpus), stays_awake=stays_awake)


@contextmanager
def watching(
    target: Target, server: str, plan: ReplayPlan, *, metrics_url: str | None, is_wanted: bool
) -> Iterator[Watcher | None]:
    """Sample the server's metrics until the block ends, where it has any and a load is long enough to tell.

    A sampler is a process that takes half a second to start; where an address was given, it starts in any case.
    """
    is_long = any(plan.planned_s(load) >= LEAST_SAMPLED_S for load in plan.loads)
    if not is_wanted or not (is_long or metrics_url is not None):
        yield None
        return
    if target.endpoint.proxy is not None and metrics_url is None:
        say("no metrics of the server are sampled: requests go through a proxy, and metrics do not; see --metrics-url")
        yield None
        return
    from orchestrator.trials.scraping import open_collector  # noqa: PLC0415 - only what this replay needs is imported

    with tempfile.TemporaryDirectory() as folder:
        endpoint = target.endpoint
        collector = open_collector(
            endpoint.base_url, server, metrics_url=metrics_url, key=endpoint.key, folder=Path(folder)
        )
        if collector is None:
            say("no metrics of the server are sampled: none that are known answer")
            yield None
            return
        collector.start()
        try:
            yield collector
        finally:
            collector.stop()


def walk(
    plan: ReplayPlan, target: Target, server: str, *, watcher: Watcher | None, client: Client, output: Output
) -> None:
    """Offer the loads one after the other; what was measured before one is refused is kept.

    Raises:
        MeasurementRefusedError: a load was refused, is invalid, or nothing of it was answered.
        TrackingError: what was measured could not be recorded.
    """
    visits: list[Visit] = []
    refusal: MeasurementRefusedError | None = None
    for number, load in enumerate(plan.loads, start=1):
        try:
            say(f"{number}/{len(plan.loads)} {_announcement(plan, load, target, server)}")
            visits.append(_visit(plan, load, target, server, watcher=watcher, client=client))
        except MeasurementRefusedError as error:
            refusal = error
            break
        _emit(visits[-1], output, is_walk=len(plan.loads) > 1)
    measurements = [one.measurement for one in visits]
    if len(plan.loads) > 1 and visits and not output.json:
        emit_loads(measurements)
    if visits and (output.mlflow is not None or output.store is not None):
        _record(plan, target, visits, output=output)
    if refusal is not None:
        raise refusal
    refuse_useless(measurements, [one.log for one in visits])


def _visit(
    plan: ReplayPlan, load: OfferedLoad, target: Target, server: str, *, watcher: Watcher | None, client: Client
) -> Visit:
    window, count = plan.window, plan.requests
    planned_s = window.measure_s if count is None else None
    with Countdown(str(load), warmup_s=window.warmup_s, measure_s=planned_s):
        return visit(
            target,
            load,
            server=server,
            workload=plan.workload,
            window=window,
            slo=plan.slo,
            clock=SystemClock(),
            cpus=client.cpus,
            requests=count,
            watcher=watcher,
            workers=client.workers,
            stays_awake=client.stays_awake,
        )


def _announcement(plan: ReplayPlan, load: OfferedLoad, target: Target, server: str) -> str:
    window, count = plan.window, plan.requests
    ends = f"{count} requests" if count is not None else f"{window.measure_s:g} s"
    proxy = target.endpoint.proxy
    way = "" if proxy is None else f" by way of the proxy {parse_proxy(proxy).authority}"
    return (
        f"{target.endpoint.base_url}{way}: {server} serving {target.endpoint.model}; "
        f"{load} for {ends} after {window.warmup_s:g} s warm-up"
    )


def _emit(seen: Visit, output: Output, *, is_walk: bool) -> None:
    if output.records is not None:
        from orchestrator.replay.files import write_records  # noqa: PLC0415 - Arrow takes a third of a second

        write_records(seen.log, records_path(output.records, seen.measurement.step, is_walk=is_walk))
    for note in () if seen.telemetry is None else seen.telemetry.notes:
        say(f"metrics: {note}")
    if output.json:
        emit_text(seen.measurement.to_json())
        return
    from orchestrator.report.measurement_text import measurement_text  # noqa: PLC0415 - a tenth of a second, for text

    emit_text(measurement_text(seen.measurement))


def _record(plan: ReplayPlan, target: Target, visits: list[Visit], *, output: Output) -> None:
    from orchestrator.tracking.store import open_store  # noqa: PLC0415 - only where something is recorded
    from orchestrator.tracking.visits import EXPERIMENT, ReplayRecord, record_replay  # noqa: PLC0415

    now = utc_now(SystemClock())
    proxy = target.endpoint.proxy
    record = ReplayRecord(
        replay_id=f"replay-{secrets.token_hex(6)}",
        url=target.endpoint.base_url,
        server=visits[0].server,
        model=target.endpoint.model,
        asked={
            "workload": plan.workload.model_dump(mode="json"),
            "loads": ", ".join(map(str, plan.loads)),
            "window": plan.window.model_dump(mode="json", exclude=None if plan.requests is None else {"measure_s"}),
            "requests": plan.requests,
            "proxy": None if proxy is None else parse_proxy(proxy).authority,
            "slo": None if plan.slo is None else plan.slo.model_dump(mode="json", exclude_none=True),
        },
        measurements=[one.measurement for one in visits],
        ended_at=now,
    )
    place = open_store(output.store or DEFAULT_STORE)
    record_replay(place, record, uri=output.mlflow)
    say(f"recorded in MLflow as {record.replay_id}, experiment {EXPERIMENT!r}")
