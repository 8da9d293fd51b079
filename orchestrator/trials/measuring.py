"""One measurement of a trial: set the cache state, replay one load, scrape, write the raw data, summarise."""

import datetime
from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import EngineAdapter, ModelRef
from orchestrator.deploy.readiness import NotReadyError, prove_token
from orchestrator.domain.clock import Clock
from orchestrator.domain.deployment import Deployment
from orchestrator.domain.errors import DeploymentError, MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.replay.files import write_records
from orchestrator.replay.server import reset_cache
from orchestrator.telemetry.collector import Collector
from orchestrator.telemetry.files import write_telemetry
from orchestrator.trials.traffic import Target, Traffic, check_lora, offer, traffic_for
from workloads.schedule_file import write_schedule


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
        MeasurementRefusedError: the cache state that the study declares cannot be set, or telemetry does not start.
    """
    study, deployment = site.study, site.deployment
    deployment.check_alive()
    _set_cache(site)
    target = Target(deployment.endpoint, site.adapter.capabilities, site.model.tokenizer_path)
    check_lora(study.workload, deployment.endpoint)
    traffic = traffic_for(study.workload, load, study.window, target=target, salt=salt_for(study, load))
    collector.await_ready()
    started_at = utc_now(site.clock)
    log = offer(
        traffic,
        load,
        study.window,
        target=target,
        route=study.workload.dialect,
        clock=site.clock,
        cpus=study.deploy.client_cpus,
    )
    _prove_alive(site, target)
    telemetry = collector.snapshot()
    folder = site.folder / f"load-{load.step}"
    folder.mkdir(parents=True, exist_ok=True)
    write_schedule(traffic.schedule, folder / "schedule.parquet")
    write_records(log, folder / "requests.parquet")
    write_telemetry(telemetry, site.folder / "telemetry.parquet")
    return summarise(log, _facts(site, traffic, started_at), slo=study.slo, telemetry=telemetry)


def _prove_alive(site: Site, target: Target) -> None:
    """Make sure that the engine still generates: one that died or hangs behind its server must not be a slow one.

    Raises:
        DeploymentError: it does not.
    """
    site.deployment.check_alive()
    dialect = target.dialect(site.study.workload.dialect)
    try:
        prove_token(target.endpoint, dialect, site.clock, timeout_s=site.study.window.request_timeout_s)
    except NotReadyError as error:
        raise DeploymentError(f"{site.adapter.name}: after the load: {error}") from error
    finally:
        site.deployment.check_alive()


def salt_for(study: StudySpec, load: OfferedLoad) -> str:
    """Name the salt of a load: one a load under `salted`, one for all otherwise."""
    return f"{study.seed}/{load.mode}/{load.step}" if study.cache == "salted" else f"{study.seed}"


def utc_now(clock: Clock) -> str:
    """Return the wall time as ISO 8601 in UTC."""
    return datetime.datetime.fromtimestamp(clock.wall_s(), datetime.UTC).isoformat()


def _set_cache(site: Site) -> None:
    if site.study.cache != "reset":
        return
    path = site.adapter.capabilities.cache_reset_path
    if path is None:
        raise MeasurementRefusedError(
            f"cache: reset needs an engine that can reset its prefix cache; {site.adapter.name} cannot, use salted"
        )
    endpoint = site.deployment.endpoint
    reset_cache(endpoint.base_url, path, endpoint.key)


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
        stop=traffic.stop,
    )
