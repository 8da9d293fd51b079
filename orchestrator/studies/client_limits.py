"""What the client can do on this machine, found out before a study starts, and the refusal of loads beyond it."""

from collections.abc import Mapping

from orchestrator.domain.calibration import MARGIN, Calibration, ClientNeed
from orchestrator.domain.clock import Clock
from orchestrator.domain.errors import MeasurementRefusedError
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.study import StudySpec
from orchestrator.replay.calibration import calibrate
from orchestrator.trials import schedule_for
from orchestrator.trials.client_need import need_of

# Far below what one process reaches on the slowest machine tried; a plan need not measure to know as much.
SURE = ClientNeed(rps=300.0, chunks_per_s=5000.0)


def largest_need(study: StudySpec) -> tuple[OpenLoad, ClientNeed] | None:
    """Return the load of a study that asks most of the client; None where all its loads are closed loops.

    Raises:
        TraceError: the workload cannot carry the load.
    """
    loads = [one for one in study.load.loads if isinstance(one, OpenLoad)]
    if not loads:
        return None
    load = max(loads, key=lambda one: one.rate_rps)
    need = need_of(load, schedule_for(study.workload, load, study.window))
    return None if need is None else (load, need)


def calibrate_client(study: StudySpec, clock: Clock) -> Calibration:
    """Measure one client process where the study's client will run, against a null server in the engine's place.

    Raises:
        InputError: the study's cores are not to be had.
        MeasurementRefusedError: the null server does not start or answer.
    """
    deploy = study.deploy
    found = calibrate(clock, cpus=process_cpus(deploy.client_cpus), engine_cpus=deploy.engine_cpus)
    return found.model_copy(update={"notes": (*found.notes, *overlap(deploy.client_cpus, deploy.engine_cpus))})


def refuse_overload(study: StudySpec, calibration: Calibration) -> int:
    """Return how many client processes the study's largest load needs.

    Where the null server was late and not the client, a load that is small beyond doubt passes whatever was shown: on a
    busy machine that is the server's lateness alone, and each measurement has a verdict of its own.

    Raises:
        MeasurementRefusedError: more than the study gives cores to its client; nothing was deployed.
    """
    found = largest_need(study)
    if found is None:
        return 1
    load, need = found
    needed, available = calibration.workers_for(need), study.deploy.num_client_workers
    if calibration.limited_by != "client" and is_surely_carried(need):
        return 1
    if needed is None:
        raise MeasurementRefusedError(
            f"{_planned(load, need)}, and a client process was found {calibration.ceiling_text}; leave the machine to "
            "this study, keep client and engine apart (deploy.client_cpus, deploy.engine_cpus), and try again"
        )
    if needed > available:
        raise MeasurementRefusedError(
            f"{_planned(load, need)}; with a margin of {MARGIN - 1:.0%} that takes {needed} client processes, and the "
            f"study gives cores to {available}. One process was found {calibration.ceiling_text}. Lower "
            "load.rates_rps, or give more cores in deploy.client_cpus"
        )
    return needed


def is_surely_carried(need: ClientNeed) -> bool:
    """Say whether a load is so small that it needs no proof."""
    return need.rps <= SURE.rps and need.chunks_per_s <= SURE.chunks_per_s


def refuse_overload_in_plan(study: StudySpec, clock: Clock) -> None:
    """Measure the client only where the largest load is not small beyond doubt, and refuse what it does not carry.

    Raises:
        MeasurementRefusedError: the load is beyond what the client was shown to carry.
    """
    found = largest_need(study)
    if found is not None and not is_surely_carried(found[1]):
        refuse_overload(study, calibrate_client(study, clock))


def process_cpus(client_cpus: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the cores of one client process: the first of those given, since each process uses one."""
    return None if client_cpus is None else client_cpus[:1]


def overlap(client_cpus: tuple[int, ...] | None, engine_cpus: tuple[int, ...] | None) -> tuple[str, ...]:
    """Say where client and engine share cores: what the client was calibrated without, it then measures with."""
    if client_cpus is None and engine_cpus is None:
        return ("client and engine may run on the same cores (deploy.client_cpus and deploy.engine_cpus are not set)",)
    if client_cpus is None or engine_cpus is None:
        one, other = ("client", "engine") if client_cpus is None else ("engine", "client")
        return (f"the {one} may run on the {other}'s cores too (deploy.{one}_cpus is not set)",)
    shared = sorted(set(client_cpus) & set(engine_cpus))
    return (f"client and engine share cores {', '.join(map(str, shared))}",) if shared else ()


def to_tag(calibration: Calibration | None) -> Mapping[str, str]:
    """Spell a calibration as the tag under which a study shows it; each measurement holds its figures."""
    return {} if calibration is None else {"client_calibration": str(calibration)}


def _planned(load: OpenLoad, need: ClientNeed) -> str:
    return f"load {load}: {need.rps:,.0f} requests/s and {need.chunks_per_s:,.0f} chunks/s are planned"
