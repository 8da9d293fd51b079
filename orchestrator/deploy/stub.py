"""The adapter of the stub engine, so that a deployer can be tested without any real engine."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from adapters.protocol import (
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
from adapters.samples import sample_model
from orchestrator.deploy import stub_engine

Behaviour = Literal["plain", "crash", "silent", "refuse", "stubborn", "grandchild", "unready"]

STUB_MODEL = sample_model("none", name="stub")


class StubConfig(EngineConfig):
    """How the stub engine behaves."""

    behaviour: Behaviour = "plain"


class StubAdapter:
    """Starts the stub engine."""

    name: ClassVar[str] = "stub"
    config_type: ClassVar[type[EngineConfig]] = StubConfig
    capabilities: ClassVar[Capabilities] = Capabilities(is_simulated=True)
    environment: ClassVar[Environment] = Environment((), None, "any", "Apache-2.0")

    def check(self, config: StubConfig, model: ModelRef, hardware: Hardware) -> list[Violation]:
        """Find nothing wrong."""
        del config, model, hardware
        return []

    def launch_plan(self, config: StubConfig, model: ModelRef, *, ports: Mapping[str, int]) -> LaunchPlan:
        """Say how to start the stub engine."""
        flags = ("--port", str(ports["http"]), "--behaviour", config.behaviour)
        return LaunchPlan(("python", stub_engine.__file__, *flags), ports, model.name)

    def port_names(self) -> tuple[str, ...]:
        """Name the one port."""
        return ("http",)

    def server_metrics(self) -> Mapping[str, ServerMetric]:
        """Map nothing."""
        return {}

    def classify_failure(self, log_tail: str) -> StartFailure:
        """Tell a bad flag and a taken port from the rest."""
        if "unknown flag" in log_tail:
            return StartFailure.BAD_FLAG
        return StartFailure.PORT_TAKEN if "Address already in use" in log_tail else StartFailure.UNKNOWN
