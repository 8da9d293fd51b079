"""Makes folders that look like installed environments, without installing anything."""

import sys
from pathlib import Path

from orchestrator.environments.folder import STAMP, Stamp, interpreter_of, place_of


def put_environment(engine: str, version: str, needs: str = "cpu") -> Path:
    place = place_of(engine, version, needs)
    interpreter = interpreter_of(place)
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    stamp = Stamp(engine=engine, distribution=engine, version=version, needs=needs, lock_sha256=None)
    (place / STAMP).write_text(stamp.model_dump_json())
    return place
