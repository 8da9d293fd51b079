"""One measurement of a trial: set the cache state, replay one load, scrape, write the raw data, summarise."""

from dataclasses import dataclass, replace
from pathlib import Path

from adapters.protocol import EngineAdapter, ModelRef
from orchestrator.deploy.readiness import NotReadyError, prove_token
from orchestrator.domain.cache import CacheFacts
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import Clock, utc_now
from orchestrator.domain.deployment import Deployment
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.replay.files import write_records
from orchestrator.replay.workers import Launch
from orchestrator.telemetry.collector import Collector
from orchestrator.telemetry.files import write_telemetry
from orchestrator.trials.cache_setting import empty_cache, grain_of, salt_for, set_warmth
from orchestrator.trials.traffic import Target, Traffic, check_lora, offer, traffic_for
from workloads.schedule_file import write_schedule


@dataclass(frozen=True, slots=True)
class Site:
    """Where a measurement takes place: the trial, its study, its engine, its folder; and what the client can do."""

    trial: TrialSpec
    study: StudySpec
    model: ModelRef
    adapter: EngineAdapter
    deployment: Deployment
    clock: Clock
    folder: Path
    calibration: Calibration | None = None
    launch: Launch | None = None


def measure(site: Site, load: OfferedLoad, collector: Collector) -> Measurement:
    """Offer one load to a running engine; its raw data lies in `load-<step>` of the trial's folder.

    Raises:
        DeploymentError: the engine is not, or no longer, the one that was started.
        MeasurementRefusedError: the cache state that the study declares cannot be set, or telemetry does not start.
    """
    study, deployment = site.study, site.deployment
    deployment.check_alive()
    target = Target(deployment.endpoint, site.adapter.capabilities, site.model.tokenizer_path)
    check_lora(study.workload, deployment.endpoint)
    salt = salt_for(study, load)
    cold = traffic_for(study.workload, load, study.window, target=target, salt=salt)
    collector.await_ready()
    traffic, cache = _set_cache(site, cold, target=target, salt=salt)
    started_at = utc_now(site.clock)
    log = offer(
        traffic,
        load,
        study.window,
        target=target,
        route=study.workload.dialect,
        clock=site.clock,
        cpus=study.deploy.client_cpus,
        workers=study.deploy.num_client_workers,
        launch=site.launch,
        stays_awake=study.deploy.client_stays_awake,
    )
    _prove_alive(site, target)
    telemetry = collector.snapshot()
    folder = site.folder / f"load-{load.step}"
    folder.mkdir(parents=True, exist_ok=True)
    write_schedule(traffic.schedule, folder / "schedule.parquet")
    write_records(log, folder / "requests.parquet")
    write_telemetry(telemetry, site.folder / "telemetry.parquet")
    return summarise(log, _facts(site, traffic, cache, started_at=started_at), slo=study.slo, telemetry=telemetry)


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


def _set_cache(site: Site, traffic: Traffic, *, target: Target, salt: str) -> tuple[Traffic, CacheFacts]:
    """Bring the cache into the state that the study asks for; return the traffic for it and what to expect."""
    study, adapter, deployment = site.study, site.adapter, site.deployment
    enforced_by = empty_cache(study.cache, deployment.endpoint, adapter.capabilities, engine=adapter.name)
    config = adapter.config_type.model_validate(site.trial.config)
    grain = grain_of(adapter.name, config, deployment.resolved)
    traffic, facts = set_warmth(study, traffic, target=target, grain=grain, salt=salt, clock=site.clock)
    return traffic, replace(facts, enforced_by=enforced_by)


def _facts(site: Site, traffic: Traffic, cache: CacheFacts, *, started_at: str) -> MeasurementFacts:
    workload = site.study.workload
    return MeasurementFacts(
        trial_digest=site.trial.digest,
        schedule_digest=traffic.schedule.digest,
        content=workload.content,
        length_scale=workload.lengths.input_factor,
        cache_policy=cache.policy,
        cache=cache,
        calibration=site.calibration,
        is_simulated=site.adapter.capabilities.is_simulated,
        started_at=started_at,
        warmup_s=site.study.window.warmup_s,
        measure_s=site.study.window.measure_s,
        stop=traffic.stop,
    )
