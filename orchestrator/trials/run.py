"""One trial: deploys a configuration, measures it load by load, takes it down and verifies that it is gone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from adapters.protocol import EngineAdapter, EngineConfig, LaunchPlan, ModelRef
from orchestrator.domain.calibration import Calibration
from orchestrator.domain.clock import NS_PER_S, Clock
from orchestrator.domain.deployment import Deployer, Deployment, DeployRequest, StopReport
from orchestrator.domain.environment import EngineEnvironment
from orchestrator.domain.errors import DeploymentError, MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.outcome import Completed, TrialOutcome
from orchestrator.domain.placement import PlacementPlan, plan_placement
from orchestrator.domain.study import StudySpec
from orchestrator.domain.trial import TrialSpec
from orchestrator.replay.workers import Launch
from orchestrator.telemetry.collector import Collector
from orchestrator.telemetry.devices import device_objections
from orchestrator.telemetry.hardware import read_hardware
from orchestrator.telemetry.nvml import open_probe
from orchestrator.trials.agreement import greedy_facts
from orchestrator.trials.ends import InfeasibleError, end_of, score
from orchestrator.trials.measuring import Site, measure


class TrialRun:
    """One trial, opened, measured load by load, closed. `skip` holds what an earlier run measured, by load step.

    `launch` starts load workers elsewhere; None: they are on this machine.
    """

    def __init__(  # noqa: PLR0913 - everything a trial needs, named
        self,
        trial: TrialSpec,
        study: StudySpec,
        *,
        model: ModelRef,
        adapter: EngineAdapter,
        deployer: Deployer,
        clock: Clock,
        folder: Path,
        environment: EngineEnvironment,
        skip: Mapping[int, Measurement] | None = None,
        calibration: Calibration | None = None,
        launch: Launch | None = None,
    ) -> None:
        self.trial = trial
        self.study = study
        self.engine_start_s = 0.0
        self.replay_s = 0.0
        self.facts: Mapping[str, str] = {}
        self._model = model
        self._adapter = adapter
        self._deployer = deployer
        self._clock = clock
        self._folder = folder
        self._environment = environment
        self._skip = dict(skip or {})
        self._calibration = calibration
        self._launch = launch
        self._deployment: Deployment | None = None
        self._collector: Collector | None = None

    def open(self) -> None:
        """Check the configuration, deploy it, start telemetry.

        Raises:
            InfeasibleError: a constraint is violated; nothing was deployed.
            MeasurementRefusedError: a device is in use by others, or the devices are of several kinds.
            DeploymentError: the engine did not start; nothing of it is left.
        """
        config = self._adapter.config_type.model_validate(self.trial.config)
        violations = self._adapter.check(config, self._model, read_hardware())
        if violations:
            raise InfeasibleError(violations)
        objections = device_objections(open_probe())
        if objections:
            raise MeasurementRefusedError("; ".join(objections))
        deployment = self._deployer.deploy(self._request())
        self._deployment = deployment
        self.engine_start_s = deployment.times.token_s
        self.facts = {**_facts(deployment), **self._environment.facts(), **self._greedy_facts(deployment)}
        self._collector = Collector(
            metrics_url=deployment.metrics_url,
            server_metrics=self._adapter.server_metrics(),
            root_pid=deployment.root_pid if deployment.is_same_host else None,
            hz=self.study.telemetry_hz,
            folder=self._folder,
            cpus=self.study.deploy.client_cpus,
        )
        self._collector.start()

    def measure(self, load: OfferedLoad) -> Measurement:
        """Offer one load and say what came of it; a load that an earlier run measured is not offered again.

        Raises:
            DeploymentError: the engine ended meanwhile; what was half measured is thrown away.
        """
        if load.step in self._skip:
            return self._skip[load.step]
        if self._deployment is None or self._collector is None:
            raise DeploymentError(f"trial {self.trial.trial_id} is not open; call open() first")
        site = Site(
            self.trial,
            self.study,
            self._model,
            self._adapter,
            self._deployment,
            self._clock,
            self._folder,
            self._calibration,
            self._launch,
        )
        measurement = measure(site, load, self._collector)
        self.replay_s += measurement.warmup_s + measurement.window_s + measurement.drain_s
        return measurement

    def close(self) -> StopReport | None:
        """Stop telemetry and engine and verify that all is back; None where nothing runs. Idempotent."""
        collector, self._collector = self._collector, None
        deployment, self._deployment = self._deployment, None
        try:
            if collector is not None:
                collector.stop()
        finally:
            report = deployment.stop() if deployment is not None else None
        return report

    def _greedy_facts(self, deployment: Deployment) -> dict[str, str]:
        """Ask each candidate once, at its defaults: the same prompts, to see that they serve the same model."""
        is_asked = self.trial.number == 0 and len(self.study.engines) > 1
        if not is_asked or self._adapter.capabilities.is_simulated:
            return {}
        tokenizer = self._model.tokenizer_path
        return greedy_facts(deployment.endpoint, self._adapter.capabilities, tokenizer=tokenizer)

    def _request(self) -> DeployRequest:
        deploy = self.study.deploy
        config = self._adapter.config_type.model_validate(self.trial.config)
        return DeployRequest(
            trial_id=self.trial.trial_id,
            adapter=self._adapter,
            config=config,
            model=self._model,
            placement=placement_of(config, adapter=self._adapter, model=self._model, device=deploy.device),
            folder=self._folder,
            interpreter=self._environment.interpreter,
            via=deploy.via,
            cpus=deploy.engine_cpus,
            ready_timeout_s=deploy.ready_timeout_s,
            runtime_env=self._environment.runtime_env,
        )


def placement_of(config: EngineConfig, *, adapter: EngineAdapter, model: ModelRef, device: str) -> PlacementPlan:
    """Plan an engine's bundles; its executor decides their shape, so real ports do not matter here."""
    executor = example_plan(adapter, config, model).executor
    return plan_placement(executor, tp=config.tp, pp=config.pp, device=device)


def example_plan(adapter: EngineAdapter, config: EngineConfig, model: ModelRef) -> LaunchPlan:
    """Plan a launch on ports that nobody will open, for what does not depend on them."""
    return adapter.launch_plan(
        config, model, ports={name: index + 1 for index, name in enumerate(adapter.port_names())}
    )


class TrialResult(NamedTuple):
    """How a trial ended, what its stop verified, and how long it took."""

    outcome: TrialOutcome
    stopped: StopReport | None
    wall_s: float


def run_trial(
    run: TrialRun, *, opened: Callable[[], None], measured: Callable[[Measurement], None], clock: Clock
) -> TrialResult:
    """Open a trial, walk its loads, close it; `opened` and `measured` are called as it goes."""
    began_ns = clock.now_ns()
    measurements: list[Measurement] = []
    outcome: TrialOutcome
    try:
        run.open()
        opened()
        for load in run.study.load.loads:
            measurements.append(run.measure(load))
            measured(measurements[-1])
        outcome = Completed(tuple(measurements), score(measurements, run.study))
    except Exception as error:  # noqa: BLE001 - the trial boundary: every error becomes an outcome
        outcome = end_of(error)
    finally:
        stopped = run.close()
    return TrialResult(outcome, stopped, (clock.now_ns() - began_ns) / NS_PER_S)


def _facts(deployment: Deployment) -> dict[str, str]:
    times = deployment.times
    return {
        "argv": " ".join(deployment.argv),
        "endpoint.via": deployment.endpoint.via,
        **{f"resolved.{name}": value for name, value in deployment.resolved.items()},
        "start.place_s": f"{times.place_s:.3f}",
        "start.listen_s": f"{times.listen_s:.3f}",
        "start.health_s": f"{times.health_s:.3f}",
        "start.token_s": f"{times.token_s:.3f}",
    }
