"""Ten ends of each kind: start vLLM with two ranks, kill one of its processes, find nothing left. `make endurance`."""

from pathlib import Path

import pytest

from orchestrator.models import resolve
from tests.engines.deployments import deployed, request_for
from tests.engines.vllm_kills import KINDS, assert_killing_leaves_nothing

pytestmark = [pytest.mark.engine, pytest.mark.endurance]

CYCLES = 10


@pytest.mark.parametrize("cycle", range(CYCLES))
@pytest.mark.parametrize("kind", KINDS)
def test_every_end_leaves_nothing(kind: str, cycle: int, tmp_path: Path) -> None:
    model = resolve("tiny-llama-8h", "bf16-hf")
    parallel = {"tp": 2, "vllm_cpu_omp_threads_bind": "0|1"}
    settings = {"vllm_cpu_kvcache_space": 1, "enforce_eager": True, "max_model_len": 512, "max_num_seqs": 8}
    with deployed(request_for("vllm", model, tmp_path / str(cycle), **settings, **parallel)) as deployment:
        assert_killing_leaves_nothing(deployment, kind)
