"""One measurement: set the cache state, replay one load, scrape, write the raw data, summarise."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import EngineAdapter, ModelRef
from orchestrator.domain.clock import Clock
from orchestrator.domain.deployment import Deployment
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import ClosedLoad, OfferedLoad, OpenLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.replay import Timing, replay_closed, replay_open
from orchestrator.replay.files import write_records
from orchestrator.replay.server import reset_cache
from orchestrator.telemetry.collector import Collector
from orchestrator.telemetry.files import write_telemetry
from orchestrator.trials.traffic import Traffic, salt_for, traffic_for


@dataclass(frozen=True, slots=True)
class Site:
    """Where a measurement takes place: the trial, its study, its running engine, its folder."""

    trial: TrialSpec
    study: StudySpec
    model: ModelRef
    adapter: EngineAdapter
    deployment: Deployment
    clock: Clock
    folder: Path


def measure(site: Site, load: OfferedLoad, collector: Collector) -> Measurement:
    """Offer one load to a running engine; its raw data lies in `load-<step>` of the trial's folder.

    Raises:
        DeploymentError: the engine is not, or no longer, the one that was started.
        MeasurementRefusedError: the cache state that the study declares cannot be set on this engine.
    """
    site.deployment.check_alive()
    _set_cache(site)
    traffic = traffic_for(
        site.study,
        load,
        model=site.model,
        endpoint=site.deployment.endpoint,
        capabilities=site.adapter.capabilities,
        salt=salt_for(site.study, load),
    )
    started_at = datetime.datetime.fromtimestamp(site.clock.wall_s(), datetime.UTC).isoformat()
    log = _replay(site, load, traffic)
    site.deployment.check_alive()
    telemetry = collector.snapshot()
    folder = site.folder / f"load-{load.step}"
    folder.mkdir(parents=True, exist_ok=True)
    write_records(log, folder / "requests.parquet")
    write_telemetry(telemetry, folder.parent / "telemetry.parquet")
    return summarise(log, _facts(site, traffic, started_at), slo=site.study.slo, telemetry=telemetry)


def _set_cache(site: Site) -> None:
    if site.study.cache != "reset":
        return
    path = site.adapter.capabilities.cache_reset_path
    if path is None:
        raise MeasurementRefusedError(
            f"cache: reset needs an engine that can reset its prefix cache; {site.adapter.name} cannot, use salted"
        )
    reset_cache(site.deployment.endpoint, path)


def _replay(site: Site, load: OfferedLoad, traffic: Traffic) -> ReplayLog:
    window = site.study.window
    timing = Timing(
        warmup_s=window.warmup_s,
        measure_s=window.measure_s,
        drain_s=window.drain_s,
        request_timeout_s=window.request_timeout_s,
    )
    endpoint, cpus = site.deployment.endpoint, site.study.deploy.client_cpus
    match load:
        case OpenLoad():
            return replay_open(traffic.requests, endpoint, load=load, timing=timing, clock=site.clock, cpus=cpus)
        case ClosedLoad():
            return replay_closed(traffic.requests, endpoint, load=load, timing=timing, clock=site.clock, cpus=cpus)


def _facts(site: Site, traffic: Traffic, started_at: str) -> MeasurementFacts:
    workload = site.study.workload
    return MeasurementFacts(
        trial_digest=site.trial.digest,
        schedule_digest=traffic.schedule.digest,
        content=workload.content,
        length_scale=workload.lengths.input_factor,
        cache_policy=site.study.cache,
        is_simulated=site.adapter.capabilities.is_simulated,
        started_at=started_at,
        warmup_s=site.study.window.warmup_s,
    )
