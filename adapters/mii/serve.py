"""The parent of MII's processes: starts its deployment and its OpenAI server, and ends all when one of them ends.

Run by file path with the engine's interpreter, so it imports the standard library and the engine only. One line of
JSON on stdout says which version runs with which settings. A key for the server comes from SEATRIAL_ENGINE_KEY,
never from the command line. Linux only.
"""

import argparse
import contextlib
import copy
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TextIO

import mii  # type: ignore[import-not-found]

HTTP_LAYER = Path(__file__).with_name("http_layer.py")
LOOPBACK = "127.0.0.1"
KEY_ENV = "SEATRIAL_ENGINE_KEY"
DEVICES_ENV = "CUDA_VISIBLE_DEVICES"
KERNELS_ENV = "TORCH_EXTENSIONS_DIR"
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0
POLL_S = 0.05


class StartError(Exception):
    """The engine cannot start: a port is taken, or the visible devices do not do."""


def place(settings: dict[str, Any], visible: str | None) -> dict[str, Any]:
    """Turn indices among the visible devices into those of the machine, since the engine looks at no such variable.

    Raises:
        StartError: the devices are not named by number, or are too few.
    """
    if visible is None:
        return settings
    devices = [name.strip() for name in visible.split(",") if name.strip()]
    replicas = settings["model_config"]["replica_configs"]
    needed = 1 + max(index for replica in replicas for index in replica["gpu_indices"])
    if len(devices) < needed or not all(name.isdecimal() for name in devices):
        raise StartError(
            f"{DEVICES_ENV}={visible}: MII needs {needed} devices named by number; none can be lent by UUID"
        )
    placed = [{**one, "gpu_indices": [int(devices[index]) for index in one["gpu_indices"]]} for one in replicas]
    return {**settings, "model_config": {**settings["model_config"], "replica_configs": placed}}


def list_ports(settings: dict[str, Any], http_port: int) -> list[int]:
    """List every port that will be opened."""
    replicas = settings["model_config"]["replica_configs"]
    own = [
        port for one in replicas for port in (*one["tensor_parallel_ports"], one["torch_dist_port"], one["zmq_port"])
    ]
    return [http_port, settings["port_number"], *own]


def check_ports(ports: list[int]) -> None:
    """Prove the ports free: gRPC would share one that another engine has, without a word.

    Raises:
        StartError: a port is taken, or wanted twice.
    """
    if len(set(ports)) < len(ports):
        raise StartError(f"Address already in use: a port is wanted twice in {ports}")
    with contextlib.ExitStack() as stack:
        for port in ports:
            probe = stack.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError as error:
                raise StartError(f"Address already in use: port {port} of {ports}") from error


def prepare_environment(folder: str) -> None:
    """Lead the engine to its own programs, keep its files in one folder and its gRPC calls off any proxy."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    os.environ["MII_CACHE_PATH"] = folder
    os.environ.update({"no_grpc_proxy": "localhost"})
    tempfile.tempdir = folder


def guard_kernels() -> TextIO:
    """Clear the locks that a killed compilation left, where no other start is under way; hold the result meanwhile.

    The engine compiles its kernels at the first start and would wait for ever behind such a lock.
    """
    folder = Path(os.environ.get(KERNELS_ENV) or _kernels_folder())
    os.environ[KERNELS_ENV] = str(folder)
    folder.mkdir(parents=True, exist_ok=True)
    guard = (folder / "starts.lock").open("w")
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in folder.glob("**/lock"):
            left.unlink()
    fcntl.flock(guard, fcntl.LOCK_SH)
    return guard


def _kernels_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    builds = f"torch-{version('torch')}-deepspeed-{version('deepspeed')}"
    return Path(cache) / "seatrial" / "mii-kernels" / builds


def start_http_layer(settings: dict[str, Any], http_port: int) -> None:
    """Start MII's OpenAI server before the deployment's load balancer."""
    environment = {name: value for name, value in os.environ.items() if name != "API_KEYS"}
    key = environment.get(KEY_ENV)
    if key:
        environment["API_KEYS"] = json.dumps([key])
    model = settings["model_config"]["model_name_or_path"]
    argv = [sys.executable, str(HTTP_LAYER), "--model", model, "--host", LOOPBACK, "--port", str(http_port)]
    argv += ["--load-balancer", f"localhost:{settings['port_number']}"]
    subprocess.Popen(argv, env=environment)  # noqa: S603 - our own program


def children(pid: int) -> list[int]:
    """List a process's direct children, ended ones that nobody has reaped included."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """List every process below this one, parents first."""
    found = children(pid)
    for child in found:  # grows while it is read
        found += children(child)
    return found


def await_first_end(parts: set[int]) -> str:
    """Wait until one of our children in `parts` has ended and say which, with its status."""
    statuses: dict[int, int] = {}
    while not (gone := parts - set(children(os.getpid()))):
        pid, status = os.waitpid(-1, 0)
        statuses[pid] = os.waitstatus_to_exitcode(status)
    return ", ".join(f"process {pid} with status {statuses.get(pid, 'unknown')}" for pid in sorted(gone))


def end_descendants() -> None:
    """End every process below this one, orphans too: SIGTERM, a moment of grace, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if _are_reaped(time.monotonic() + GRACE_S):
            return


def _are_reaped(deadline_s: float) -> bool:
    while time.monotonic() < deadline_s:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not pid:
            time.sleep(POLL_S)
    return False


def _stop(*_: object) -> NoReturn:
    sys.exit(0)


def _serve(settings: dict[str, Any], http_port: int, folder: str) -> str:
    """Serve until a part of the engine ends, and say which it was."""
    check_ports(list_ports(settings, http_port))
    prepare_environment(folder)
    with guard_kernels():
        client = mii.serve(mii_config=copy.deepcopy(settings))  # it writes into what it is given
    parts = set(children(os.getpid()))
    start_http_layer(settings, http_port)
    facts = {
        "engine": "mii",
        "version": version("deepspeed-mii"),
        "deepspeed": version("deepspeed"),
        "settings": client.mii_config.model_dump(mode="json"),
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    return await_first_end(parts | set(children(os.getpid())))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--http-port", required=True, type=int)
    parser.add_argument("--settings", required=True, type=json.loads)
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Serve until SIGTERM, SIGINT or the end of a part; nothing is left of the engine then."""
    options = _options(argv)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    with tempfile.TemporaryDirectory(prefix="mii-") as folder:
        try:
            settings = place(options.settings, os.environ.get(DEVICES_ENV))
            sys.stderr.write(
                f"a part of MII ended, and the rest with it: {_serve(settings, options.http_port, folder)}\n"
            )
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            end_descendants()
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StartError as error:
        sys.exit(str(error))
