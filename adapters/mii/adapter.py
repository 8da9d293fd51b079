"""How DeepSpeed-MII is configured, checked, started and read. Runs nothing and imports no engine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from adapters.mii.checks import list_violations
from adapters.mii.config import MiiConfig
from adapters.mii.failures import classify
from adapters.mii.settings import PORT_NAMES, render_settings
from adapters.protocol import (
    Build,
    Capabilities,
    EngineConfig,
    Environment,
    Hardware,
    LaunchPlan,
    ModelRef,
    ServerMetric,
    StartFailure,
    Violation,
)

PROGRAM = Path(__file__).with_name("serve.py")


class MiiAdapter:
    """MII's processes (ranks, load balancer, OpenAI server) under one program of ours, on one machine.

    The OpenAI server listens on loopback; the engine itself opens the other ports on every address.
    """

    name: ClassVar[str] = "mii"
    config_type: ClassVar[type[EngineConfig]] = MiiConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        accepts_token_prompts=False,
        # `ignore_eos` is always false, and `min_tokens` counts the prompt's tokens too
        output_length_control=None,
        usage_in_stream=False,
        formats=("hf",),
    )
    environment: ClassVar[Environment] = Environment(
        builds=(
            # torch==2.13.0 is met by the CUDA build and by 2.13.0+cpu, which runs everything but the model
            Build("deepspeed-mii", "0.3.3", needs="cuda", lock="mii-cuda.lock"),
        ),
        module="mii",
        hardware="NVIDIA GPU, compute capability 8.0 or more, with nvcc: kernels are compiled at the first start",
        licence="Apache-2.0",
        verified=("0.3.3",),
        is_tried=False,
    )

    def check(self, config: MiiConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what MII would refuse or could not hold in memory."""
        return list_violations(config, model, hardware)

    def launch_plan(self, config: MiiConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start the child program with the whole configuration; the deployer puts its interpreter for `python`.

        Its `/health` is well whatever became of the engine, so that only a generated token tells.
        """
        settings = json.dumps(render_settings(config, model, ports), separators=(",", ":"), sort_keys=True)
        return LaunchPlan(
            argv=("python", str(PROGRAM), "--http-port", str(ports["http"]), "--settings", settings),
            ports={name: ports[name] for name in PORT_NAMES},
            served_model=str(model.path),
            env={"PYTHONSAFEPATH": "1"},  # else this folder's modules could hide the engine's
            metrics_path=None,
        )

    def port_names(self) -> tuple[str, ...]:
        """Name the ports; further replicas and ranks take those that follow `rank`, `torch` and `zmq`."""
        return PORT_NAMES

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Return none: MII publishes no series."""
        return {}

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)
