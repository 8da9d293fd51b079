"""Starts a real engine through the local deployer, as a trial does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters import registry
from adapters.protocol import ModelRef
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import LocalDeployer
from orchestrator.deploy.supervisor import Process
from orchestrator.domain.clock import SystemClock
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.placement import plan_placement
from tests.engines.environments import interpreter_for

SMALL_VLLM = {"vllm_cpu_kvcache_space": 1, "enforce_eager": True, "max_model_len": 2048, "max_num_seqs": 8}
LORA = "noise"  # the adapter that the shared vLLM serves
READY_TIMEOUT_S = 240.0  # the machine may be busy


def request_for(engine: str, model: ModelRef, folder: Path, **settings: object) -> DeployRequest:
    adapter = registry.get(engine)
    config = adapter.config_type.model_validate(settings)
    return DeployRequest(
        trial_id=f"engine-test-{engine}",
        adapter=adapter,
        config=config,
        model=model,
        placement=plan_placement("process", tp=config.tp, pp=config.pp, device="CPU"),
        folder=folder,
        interpreter=interpreter_for(engine),
        ready_timeout_s=READY_TIMEOUT_S,
    )


@contextmanager
def deployed(request: DeployRequest) -> Iterator[LocalDeployment]:
    deployment = LocalDeployer(SystemClock()).deploy(request)
    try:
        yield deployment
    finally:
        deployment.stop()


def command_line(process: Process) -> str:
    return Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
