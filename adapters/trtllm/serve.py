"""The child process: hands `trtllm-serve` its options as a file, then becomes it.

Run by file path with the engine's interpreter, so it imports the standard library only. The file lives in memory and
goes with the process. JSON is YAML, so nothing is converted. One line of JSON on stdout says which version runs with
which options; everything after `--` is the engine's own command line.
"""

import argparse
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version

MODULE = "tensorrt_llm.commands.serve"
FILE_FLAG = "--extra_llm_api_options"


def options_file(options: dict[str, object]) -> str:
    """Write the options to a file in memory and return its path, which stays good through `exec`."""
    handle = os.memfd_create("trtllm-options", 0)  # without MFD_CLOEXEC: the engine reads it
    os.write(handle, json.dumps(options).encode())
    return f"/proc/self/fd/{handle}"


def _read(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--options", required=True, type=json.loads)
    parser.add_argument("command", nargs="+")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    """Become the engine.

    Raises:
        SystemExit: the engine is not installed beside this interpreter.
    """
    asked = _read(argv)
    try:
        facts = {"engine": "trtllm", "version": version("tensorrt-llm"), "settings": asked.options}
    except PackageNotFoundError as error:
        raise SystemExit(f"No module named tensorrt_llm: {sys.executable} has no tensorrt-llm installed") from error
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", MODULE, *asked.command, f"{FILE_FLAG}={options_file(asked.options)}"]
    os.execv(sys.executable, command)  # noqa: S606 - no shell: the words are ours


if __name__ == "__main__":
    main(sys.argv[1:])
