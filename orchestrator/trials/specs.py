"""From a proposed assignment to the trial that will be deployed."""

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.runner import SearchJob
from orchestrator.domain.trial import TrialSpec
from workloads.digest import digest


def trial_spec(job: SearchJob, number: int, assignment: Mapping[str, Any]) -> TrialSpec:
    """Name the trial of an assignment: the study's fixed flags, then the searched ones.

    Trial 0 carries an empty assignment: the engine's defaults, and whatever the study fixes for all.
    """
    study = job.study
    return TrialSpec(
        study_id=job.study_id,
        study_digest=study.digest,
        number=number,
        engine=job.choice.name,
        candidate=job.choice.candidate,
        engine_version=job.environment.version,
        assignment=dict(assignment),
        config={**job.choice.config, **assignment},
        model_sha256=job.model.weights_sha256,
        deploy_digest=digest(study.deploy.model_dump(mode="json", exclude={"deployer", "ready_timeout_s"})),
    )
