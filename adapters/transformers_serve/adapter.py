"""How `transformers serve` is configured, checked, started and read. Runs nothing and imports no engine."""

from collections.abc import Mapping
from typing import ClassVar

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
from adapters.transformers_serve.config import TransformersConfig
from adapters.transformers_serve.constraints import violations
from adapters.transformers_serve.failures import classify

MODULE = "transformers.cli.transformers"
LOOPBACK = "127.0.0.1"
VERSION = "5.24.0"
ALONG = ("transformers[serving]", "accelerate")
ENVIRON = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",  # else its command looks for a newer version of itself first
}


class TransformersAdapter:
    """`transformers serve` in a process of its own, one model, on loopback; it knows no key."""

    name: ClassVar[str] = "transformers"
    config_type: ClassVar[type[EngineConfig]] = TransformersConfig
    capabilities: ClassVar[Capabilities] = Capabilities(
        accepts_token_prompts=False,
        output_length_control="generation_config",
        sends_done=False,  # usage comes with the finish reason, asked for or not, and then the end of the message
        formats=("hf",),
    )
    environment: ClassVar[Environment] = Environment(
        builds=(
            Build("transformers", VERSION, needs="cpu", requirements=ALONG, lock="transformers-cpu.lock"),
            Build("transformers", VERSION, needs="cuda", requirements=(*ALONG, "bitsandbytes")),
        ),
        module="transformers",
        hardware="any CPU or GPU that PyTorch runs on; tried on CPU only",
        licence="Apache-2.0",
        verified=(VERSION,),
    )

    def check(self, config: TransformersConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """List what the engine would refuse, ignore, or die of at its first request."""
        return list(violations(config, model, hardware))

    def launch_plan(self, config: TransformersConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Start its command on one folder, whose path is the name that requests must carry."""
        folder = str(model.path)
        argv = ("python", "-m", MODULE, "serve", folder, f"--host={LOOPBACK}", f"--port={ports['http']}")
        return LaunchPlan(
            argv=(*argv, *config.flags()),
            ports={"http": ports["http"]},
            served_model=folder,
            env=ENVIRON,
            metrics_path=None,
        )

    def port_names(self) -> tuple[str, ...]:
        """Name the one port that it opens."""
        return ("http",)

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map nothing: it has no metrics of its own."""
        return {}

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Say why it ended, from the end of its log."""
        return classify(log_tail)
