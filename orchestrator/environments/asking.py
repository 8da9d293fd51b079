"""Asks an interpreter that Seatrial did not make what it has. Imports no engine, here or there."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 60.0
QUESTION = """
import importlib.metadata, importlib.util, sys
module, *names = sys.argv[1:]
if importlib.util.find_spec(module) is None:
    sys.exit(f"no module {module}")
for name in names:
    try:
        print(importlib.metadata.version(name))
        break
    except importlib.metadata.PackageNotFoundError:
        pass
"""


def ask_interpreter(interpreter: Path, module: str | None, distributions: Sequence[str]) -> str | None:
    """Return the version of the first distribution that an interpreter has, None where it has none of them.

    Raises:
        LookupError: it does not run, or cannot import the module; with the last line of what it said.
    """
    command = [str(interpreter), "-c", QUESTION, module or "sys", *distributions]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603 - the study's own interpreter
    except (OSError, subprocess.SubprocessError) as error:
        raise LookupError(str(error)) from error
    if done.returncode:
        raise LookupError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return done.stdout.strip() or None
