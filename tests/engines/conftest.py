"""Real weights and real engines on this machine's CPU; weights are fetched once into the user's cache."""

from collections.abc import Iterator

import pytest

from adapters.llamacpp.config import LlamaCppConfig
from adapters.protocol import ModelRef
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.models import FetchedModel, fetch
from tests.engines.deployments import LORA, SMALL_VLLM, deployed, request_for
from tests.engines.llamacpp_server import RunningLlamaCpp, running_llamacpp
from tests.engines.lora_adapter import write_lora_adapter


@pytest.fixture(scope="session")
def smollm2() -> FetchedModel:
    return fetch("smollm2-135m")


@pytest.fixture(scope="session")
def smollm2_variants(smollm2: FetchedModel) -> dict[str, ModelRef]:
    return {ref.variant: ref for ref in smollm2.variants}


@pytest.fixture(scope="session")
def vllm(smollm2_variants: dict[str, ModelRef], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDeployment]:
    """One vLLM for all who only ask it, since it takes a minute to start: the BF16 weights and a LoRA adapter."""
    folder = tmp_path_factory.mktemp("vllm")
    model = smollm2_variants["bf16-hf"]
    adapter = write_lora_adapter(folder / LORA, model)
    lora = {"enable_lora": True, "max_lora_rank": 8, "lora_modules": f"{LORA}={adapter}"}
    with deployed(request_for("vllm", model, folder, **SMALL_VLLM, **lora)) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def llamacpp(
    smollm2_variants: dict[str, ModelRef], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningLlamaCpp]:
    """A server on the Q8_0 weights with two slots of 512 tokens."""
    log = tmp_path_factory.mktemp("llamacpp") / "engine.log"
    config = LlamaCppConfig(n_ctx=1024, n_parallel=2, n_threads=1)
    with running_llamacpp(smollm2_variants["q8_0"], log, config) as server:
        yield server
