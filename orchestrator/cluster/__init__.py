"""How trials run on Ray: the session, one Serve application a trial, the device queue, the search on Ray Tune.

The only package that imports Ray. Importing it sets what Ray reads when it is imported itself; whatever a person
has set stays.
"""

import os

_RAY_READS_WHEN_IMPORTED = {
    "RAY_AUTH_MODE": "token",  # Ray's services listen on the host's own address, on a laptop as well
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # Ray's 15 would slow client and engine down beside any other program
    "RAY_preload_python_modules": "orchestrator.cluster.serve_app",  # idle workers have a replica's imports done
    "RAY_AIR_NEW_OUTPUT": "0",  # Tune's newer output prints to stdout, which belongs to the artefact
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # relative paths in a study mean the same in a trial
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors without devices keep their view of them
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the journal is the record
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # interrupts.py keeps the load in flight, Tune's own throws it away
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",  # nothing is ever restored from Tune's own state
    "TUNE_RESULT_BUFFER_LENGTH": "1",  # a directive must be given before the next load begins
}

for _name, _value in _RAY_READS_WHEN_IMPORTED.items():
    os.environ.setdefault(_name, _value)
