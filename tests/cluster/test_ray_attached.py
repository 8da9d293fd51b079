import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.deploy.lease import STATE_NAME
from orchestrator.deploy.leftovers import await_end, read_processes
from tests.cluster.heads import ROOT, Head, ray_head

pytestmark = pytest.mark.cluster

APPS = "import ray; from ray import serve; ray.init('auto', log_to_driver=False); print(*serve.status().applications)"
OTHERS = """
import ray
from ray import serve
@serve.deployment(ray_actor_options={"num_cpus": 0})
class Theirs:
    def __call__(self): return "theirs"
ray.init("auto", log_to_driver=False)
serve.run(Theirs.bind(), name="theirs", route_prefix="/theirs")
"""
SESSION = "from orchestrator.cluster.session import ray_session\nwith ray_session(): pass"


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    """Return a head of its own: what is counted here is every application of the cluster."""
    with ray_head(cpus=4) as running:
        yield running


def python(head: Head, code: str) -> str:
    environ = {**head.environ, "RAY_ADDRESS": head.address}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def search(head: Head, folder: Path) -> subprocess.Popen[bytes]:
    """Start a search on the head and return its driver once its engine is under load."""
    log = folder / "stderr"
    with log.open("wb") as stderr:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.searches", str(folder / "trials"), "30.0"],
            env={**head.environ, "RAY_ADDRESS": head.address},
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    give_up_at = time.monotonic() + 120
    while "deployed 0" not in log.read_text(encoding="utf-8", errors="replace"):
        assert driver.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        assert time.monotonic() < give_up_at, log.read_text(encoding="utf-8", errors="replace")
        time.sleep(0.2)
    return driver


def test_a_dead_drivers_engine_is_removed_at_the_next_start_and_nobody_elses(head: Head, tmp_path: Path) -> None:
    python(head, OTHERS)
    driver = search(head, tmp_path)
    (state,) = tmp_path.rglob(STATE_NAME)
    engine = read_processes(state)
    assert engine
    python(head, SESSION)
    apps = python(head, APPS).split()
    assert len(apps) == 2, "a session beside a living driver leaves its application alone"
    driver.kill()
    driver.wait()
    time.sleep(2.0)
    assert sorted(python(head, APPS).split()) == sorted(apps), "on a cluster an application outlives its driver"
    python(head, SESSION)
    assert python(head, APPS).split() == ["theirs"]
    assert await_end(engine, 10) == []


def test_an_interrupted_driver_leaves_the_cluster_as_it_was(head: Head, tmp_path: Path) -> None:
    before = python(head, APPS).split()
    driver = search(head, tmp_path)
    (state,) = tmp_path.rglob(STATE_NAME)
    engine = read_processes(state)
    driver.send_signal(signal.SIGINT)
    time.sleep(0.5)
    driver.send_signal(signal.SIGINT)
    assert driver.wait(60) in {130, -signal.SIGINT}
    assert await_end(engine, 10) == []
    assert python(head, APPS).split() == before


def test_a_wrong_token_is_refused_with_what_to_do(head: Head, tmp_path: Path) -> None:
    environ = {**head.environ, "HOME": str(tmp_path), "RAY_ADDRESS": head.address, "RAY_AUTH_TOKEN": "f" * 64}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SESSION],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "RAY_AUTH_MODE=token must be set alike" in done.stderr, done.stderr
