"""What must be equal for a fair comparison, as rows of key and value: versions, hardware, traffic, digests."""

from orchestrator.domain.study_record import StudyRecord


def environment_rows(record: StudyRecord) -> tuple[tuple[str, str], ...]:
    """List versions, tags and digests of a study, each fact once."""
    measured = [one for trial in record.trials for one in trial.measurements]
    schedules = dict.fromkeys(one.schedule_digest for one in measured)
    weights = dict.fromkeys(trial.trial.model_sha256 for trial in record.trials)
    facts = {
        "study digest": record.digest,
        "model": f"{record.spec.model.name} {record.spec.model.variant}",
        "weights sha256": ", ".join(weights),
        "schedule digests": ", ".join(schedules),
        "prompt content": ", ".join(dict.fromkeys(one.content for one in measured)),
        "length scale": ", ".join(dict.fromkeys(str(one.length_scale) for one in measured if one.length_scale)),
        "cache policy": str(record.spec.cache),
        "path to the engine": record.spec.deploy.via,
        "seed": str(record.spec.seed),
        **{f"version of {name}": version for name, version in sorted(record.versions.items())},
        **{key: value for key, value in sorted(record.tags.items()) if key != "fairness"},
    }
    return tuple((key, value) for key, value in facts.items() if value)
