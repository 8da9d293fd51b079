"""Expands a study into what it would do: trials, commands, placement, traffic, time. Starts nothing."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adapters import registry
from adapters.protocol import Violation
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.study import StudySpec
from orchestrator.search.spaces import space_of
from orchestrator.studies.candidates import Candidate
from orchestrator.telemetry.hardware import read_hardware
from orchestrator.trials import placement_of, schedule_for

EXAMPLE_PORT = 8000
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """One engine's share of a study; `argv` is the defaults' command with example ports."""

    engine: str
    trials: int
    space: dict[str, list[Any] | str]
    violations: tuple[str, ...]
    obstacles: tuple[str, ...]
    argv: tuple[str, ...]
    bundles: tuple[dict[str, float], ...]
    strategy: str
    devices: int


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """One offered load: how many requests and tokens a trial sends."""

    load: str
    num_requests: int
    input_tokens: int
    output_tokens: int
    schedule_digest: str


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """A study's whole expansion; times are upper bounds without engine starts."""

    name: str
    digest: str
    engines: tuple[EnginePlan, ...]
    loads: tuple[LoadPlan, ...]
    replay_s_per_trial: float
    device_hours: float

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return asdict(self)

    def to_text(self) -> str:
        """Return the plan as lines for a person."""
        return "\n".join([*self._heading(), *map(_load_line, self.loads), *map(_engine_lines, self.engines)])

    def _heading(self) -> list[str]:
        return [
            f"study {self.name}, digest {self.digest}",
            f"at most {self.replay_s_per_trial:.0f} s of replay a trial; without engine starts",
            f"{self.device_hours:.3f} device-hours in all",
        ]


def plan_study(study: StudySpec, candidates: Sequence[Candidate]) -> StudyPlan:
    """Expand a study for its candidates.

    Raises:
        TraceError: the workload cannot carry a load.
    """
    window = study.window
    engines = tuple(_engine_plan(study, one) for one in candidates)
    replay_s = len(study.load.loads) * (window.warmup_s + window.measure_s + window.drain_s)
    devices = sum(engine.trials * engine.devices for engine in engines)
    return StudyPlan(
        name=study.name,
        digest=study.digest,
        engines=engines,
        loads=tuple(_load_plan(study, load) for load in study.load.loads),
        replay_s_per_trial=replay_s,
        device_hours=devices * replay_s / SECONDS_PER_HOUR,
    )


def _load_plan(study: StudySpec, load: OfferedLoad) -> LoadPlan:
    schedule = schedule_for(study.workload, load, study.window)
    return LoadPlan(
        load=str(load),
        num_requests=len(schedule.input_tokens),
        input_tokens=int(schedule.input_tokens.sum()),
        output_tokens=int(schedule.output_tokens.sum()),
        schedule_digest=schedule.digest,
    )


def _engine_plan(study: StudySpec, candidate: Candidate) -> EnginePlan:
    choice, model = candidate.choice, candidate.model
    adapter = registry.get(choice.name)
    space = space_of(choice)
    config = adapter.config_type.model_validate(choice.config)
    ports = {name: EXAMPLE_PORT + index for index, name in enumerate(adapter.port_names())}
    placement = placement_of(config, adapter=adapter, model=model, device=study.deploy.device)
    return EnginePlan(
        engine=choice.candidate,
        trials=study.budget.trials,
        space={one.name: list(one.values) if one.values else f"{one.low}..{one.high}" for one in space.parameters},
        violations=(*space.violations(space.defaults()), *_texts(adapter.check(config, model, read_hardware()))),
        obstacles=_texts(candidate.obstacles),
        argv=adapter.launch_plan(config, model, ports=ports).argv,
        bundles=tuple(dict(bundle) for bundle in placement.bundles),
        strategy=placement.strategy,
        devices=placement.devices,
    )


def _load_line(load: LoadPlan) -> str:
    return (
        f"load {load.load}: {load.num_requests} requests, {load.input_tokens} input tokens, "
        f"{load.output_tokens} output tokens, schedule {load.schedule_digest}"
    )


def _engine_lines(engine: EnginePlan) -> str:
    space = ", ".join(f"{name} in {values}" for name, values in engine.space.items()) or "nothing"
    lines = [
        f"engine {engine.engine}: {engine.trials} trials, the first with the defaults; searches {space}",
        f"  placement: {engine.strategy} of {list(engine.bundles)}, {engine.devices} devices a trial",
        f"  command of the defaults: {shlex.join(engine.argv)}",
    ]
    lines += [f"  the defaults violate: {one}" for one in engine.violations]
    return "\n".join([*lines, *(f"  cannot run here: {one}" for one in engine.obstacles)])


def _texts(violations: Iterable[Violation]) -> tuple[str, ...]:
    return tuple(f"{one.key}: seen {one.seen!r}, allowed {one.allowed}" for one in violations)
