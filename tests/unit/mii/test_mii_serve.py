"""The launcher's own rules, without the engine: `mii` is replaced by an empty module."""

import importlib.util
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adapters.mii.adapter import PROGRAM
from adapters.mii.config import MiiConfig
from adapters.mii.settings import PORT_NAMES, render_settings
from adapters.protocol import ModelRef

PORTS = {name: 1000 * (index + 1) for index, name in enumerate(PORT_NAMES)}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "mii", ModuleType("mii"))
    spec = importlib.util.spec_from_file_location("mii_serve", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def settings(model: ModelRef) -> dict[str, Any]:
    return render_settings(MiiConfig(tp=3, replica_num=2), model, PORTS)


def devices(settings: dict[str, Any]) -> list[list[int]]:
    return [one["gpu_indices"] for one in settings["model_config"]["replica_configs"]]


def test_ranks_are_put_on_the_devices_that_may_be_seen(serve: ModuleType, settings: dict[str, Any]) -> None:
    assert devices(serve.place(settings, "7,5, 4,3,2,1")) == [[7, 5, 4], [3, 2, 1]]
    assert devices(settings) == [[0, 1, 2], [3, 4, 5]]


def test_without_a_choice_of_devices_the_first_ones_are_taken(serve: ModuleType, settings: dict[str, Any]) -> None:
    assert serve.place(settings, None) == settings


@pytest.mark.parametrize("visible", ["", "0,1", "GPU-1,GPU-2,GPU-3,GPU-4,GPU-5,GPU-6"])
def test_devices_that_do_not_do_are_said(serve: ModuleType, settings: dict[str, Any], visible: str) -> None:
    with pytest.raises(serve.StartError, match="MII needs 6 devices named by number"):
        serve.place(settings, visible)


def test_every_port_is_listed(serve: ModuleType, settings: dict[str, Any]) -> None:
    ports = serve.list_ports(settings, PORTS["http"])
    assert sorted(ports) == [1000, 2000, *range(3000, 3006), 4000, 4001, 5000, 5001]


def test_a_taken_port_is_refused(serve: ModuleType) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(serve.StartError, match=f"Address already in use: port {port}"):
            serve.check_ports([port])
    serve.check_ports([port])


def test_a_port_wanted_twice_is_refused(serve: ModuleType) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(serve.StartError, match="Address already in use"):
        serve.check_ports([port, port])


def test_locks_of_a_killed_compilation_are_cleared(
    serve: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    left = tmp_path / "ragged_ops" / "lock"
    left.parent.mkdir()
    left.touch()
    with serve.guard_kernels():
        assert not left.exists()
        left.touch()  # now a compilation of ours is under way
        with serve.guard_kernels():
            assert left.exists()


STUBBORN = """
import ctypes, importlib.util, os, subprocess, sys, time
from types import ModuleType

sys.modules["mii"] = ModuleType("mii")
spec = importlib.util.spec_from_file_location("serve", sys.argv[1])
serve = importlib.util.module_from_spec(spec)
spec.loader.exec_module(serve)
serve.GRACE_S = 1.0
ctypes.CDLL(None).prctl(serve.PR_SET_CHILD_SUBREAPER, 1)
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
orphan_maker = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {deaf!r}], start_new_session=True)"
child = subprocess.Popen([sys.executable, "-c", orphan_maker], stdout=subprocess.PIPE)
child.stdout.readline()
child.wait()
(orphan,) = serve.descendants(os.getpid())
serve.end_descendants()
print(serve.descendants(os.getpid()), os.path.exists(f"/proc/{orphan}"))
"""


def test_an_orphan_that_is_deaf_to_sigterm_is_ended_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUBBORN, str(PROGRAM)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[] False\n"


def test_the_first_part_that_ends_is_named_with_its_status(serve: ModuleType) -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as child:
        assert serve.await_first_end({child.pid}) == f"process {child.pid} with status 3"
        child.returncode = 3  # reaped behind its back
