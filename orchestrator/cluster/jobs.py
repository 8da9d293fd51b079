"""Whether we run inside a submitted Ray job, and which folder goes away with it. Only reads the environment."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # set by Ray's job supervisor for the entrypoint alone
WORKING_DIR_MARK = "working_dir_files"  # Ray unpacks uploads to .../runtime_resources/working_dir_files/_ray_pkg_<hash>


def inside_job(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether this process was started by `ray job submit`."""
    return JOB_CONFIG in (os.environ if environ is None else environ)


def submission_id(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the submitted job's id, None outside a job."""
    config = (os.environ if environ is None else environ).get(JOB_CONFIG)
    if config is None:
        return None
    name: str | None = json.loads(config).get("metadata", {}).get("job_submission_id")
    return name


def job_working_dir(cwd: Path | None = None) -> Path:
    """Return the folder that a job must not leave results in: what Ray unpacked for it and removes after it.

    Where nothing was uploaded it is the folder the job runs in, which nobody promises to keep either.
    """
    here = (Path.cwd() if cwd is None else cwd).resolve()
    return next((one for one in (here, *here.parents) if one.parent.name == WORKING_DIR_MARK), here)
