import pickle
import subprocess
import sys
from pathlib import Path

from adapters import registry
from adapters.protocol import StartFailure
from adapters.samples import sample_model
from orchestrator.cluster.guard import end
from orchestrator.cluster.jobs import inside_job, job_working_dir, submission_id
from orchestrator.cluster.orders import StartOrder, Trouble
from orchestrator.cluster.worker_process import drop_omp_threads
from orchestrator.deploy.supervisor import identify
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.errors import DeploymentError
from orchestrator.domain.placement import plan_placement

JOB = {"RAY_JOB_CONFIG_JSON_ENV_VAR": '{"metadata": {"job_submission_id": "raysubmit_1"}}'}


def test_an_order_carries_the_request_by_names_and_set_flags() -> None:
    adapter = registry.get("simulated")
    request = DeployRequest(
        trial_id="t",
        adapter=adapter,
        config=adapter.config_type.model_validate({"max_running": 2}),
        model=sample_model("none"),
        placement=plan_placement("process", tp=1, pp=1, device="CPU"),
        folder=Path("f"),
        interpreter=Path("python"),
        via="serve",
        cpus=(0,),
    )
    order = pickle.loads(pickle.dumps(StartOrder.of(request)))  # noqa: S301 - our own bytes
    assert order.config == {"max_running": 2}
    again = order.request()
    assert again.config == request.config
    assert again.config.model_fields_set == {"max_running"}
    assert again.adapter.name == "simulated"
    assert again.via == "engine"  # the replica's own way to its engine
    assert (again.cpus, again.placement, again.ready_timeout_s) == (request.cpus, request.placement, 120.0)


def test_a_deployment_error_crosses_processes_whole() -> None:
    error = DeploymentError("no room", kind=StartFailure.OUT_OF_MEMORY, log_tail="the end")
    again = pickle.loads(pickle.dumps(Trouble.of(error))).error()  # noqa: S301 - our own bytes
    assert (again.message, again.kind, again.log_tail) == ("no room", StartFailure.OUT_OF_MEMORY, "the end")
    assert Trouble.of(KeyError("x")).message == "KeyError: 'x'"


def test_a_job_is_known_by_what_its_supervisor_sets() -> None:
    assert inside_job(JOB)
    assert not inside_job({"RAY_ADDRESS": "auto"})
    assert submission_id(JOB) == "raysubmit_1"
    assert submission_id({}) is None


def test_the_jobs_folder_is_what_ray_unpacked(tmp_path: Path) -> None:
    package = tmp_path / "runtime_resources" / "working_dir_files" / "_ray_pkg_1"
    (package / "sub").mkdir(parents=True)
    assert job_working_dir(package / "sub") == package
    assert job_working_dir(tmp_path) == tmp_path


def test_rays_thread_limit_goes_and_a_persons_stays() -> None:
    environ = {"OMP_NUM_THREADS": "1", "HOME": "/h"}
    drop_omp_threads(environ, frozenset({"OMP_NUM_THREADS"}))
    assert environ["OMP_NUM_THREADS"] == "1"
    drop_omp_threads(environ, frozenset())
    assert environ == {"HOME": "/h"}


def test_the_guard_ends_what_it_was_told_of_and_its_stubborn() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    command = [sys.executable, "-I", "-S", "-c", stubborn]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = identify(child.pid)
        assert process is not None
        assert end([process], grace_s=0.1) == []
        assert child.wait() == -9
