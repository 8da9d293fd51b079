"""The rules of every started engine, as a test class. Starts the real one, on this machine."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.conformance import CANONICAL
from adapters.openai import Dialect
from adapters.protocol import EngineAdapter, ModelRef
from orchestrator.deploy.conformance.ends import assert_nothing_is_left, await_seen_end, engine_tree
from orchestrator.deploy.conformance.probe import TOTAL, generate, series_kinds
from orchestrator.deploy.deployment import LocalDeployment
from orchestrator.deploy.local import make_local_deployer
from orchestrator.domain.deployment import DeployRequest
from orchestrator.domain.placement import plan_placement

# ruff: noqa: S101 - asserting is what this class is for

DEATH_SEEN_S = 30.0
FORCED_TOKENS = 7


class EngineConformance:
    """Inherit, set `adapter` and `settings`, and give a fixture `model`; every inherited test must pass.

    Needs the engine, weights and hardware that it runs on: each test starts an engine of its own.
    """

    adapter: ClassVar[EngineAdapter]
    """The adapter under test."""
    settings: ClassVar[Mapping[str, object]] = {}
    """Settings that let the engine start on this machine."""
    ready_timeout_s: ClassVar[float] = 240.0

    @pytest.fixture
    def model(self) -> ModelRef:
        """Return the weights to serve."""
        raise NotImplementedError("expected a fixture `model` that returns a ModelRef; define it in the subclass")

    @pytest.fixture
    def interpreter(self) -> Path:
        """Return the engine's Python: the one that runs the test, unless the subclass says otherwise."""
        return Path(sys.executable)

    @pytest.fixture
    def deployment(self, model: ModelRef, interpreter: Path, tmp_path: Path) -> Iterator[LocalDeployment]:
        """Deploy the engine on this machine and stop it in any case."""
        config = self.adapter.config_type.model_validate(self.settings)
        request = DeployRequest(
            trial_id=f"conformance-{self.adapter.name}",
            adapter=self.adapter,
            config=config,
            model=model,
            placement=plan_placement("process", tp=config.tp, pp=config.pp, device="CPU"),
            folder=tmp_path,
            interpreter=interpreter,
            ready_timeout_s=self.ready_timeout_s,
        )
        deployment = make_local_deployer().deploy(request)
        try:
            yield deployment
        finally:
            deployment.stop()

    def test_each_route_generates_the_tokens_that_were_asked_for(self, deployment: LocalDeployment) -> None:
        """A forced length is kept to the token; without one the answer is whole and not longer."""
        capabilities = self.adapter.capabilities
        for route in capabilities.routes:
            seen = generate(deployment, Dialect(route, capabilities), max_tokens=FORCED_TOKENS)
            assert (seen.may_end, seen.error, seen.malformed) == (True, None, None), f"{route}: expected a whole answer"
            assert seen.chunk_ns, f"{route}: expected a real token, saw none"
            assert seen.usage or not capabilities.usage_in_stream, f"{route}: usage_in_stream promises usage, saw none"
            told = seen.usage.output_tokens if seen.usage else None
            count = seen.output_tokens if told is None else told
            allowed = {FORCED_TOKENS} if capabilities.output_length_control else range(1, FORCED_TOKENS + 1)
            assert count in allowed, f"{route}: expected {FORCED_TOKENS} tokens, saw {count}"

    def test_its_metrics_are_of_the_canonical_kinds(self, deployment: LocalDeployment) -> None:
        """A counter taken for a gauge gives rates that mean nothing."""
        mapping = {name.removesuffix(TOTAL): one for name, one in self.adapter.server_metrics().items()}
        if deployment.metrics_url is None:
            assert not mapping, f"an engine without a metrics page has no series, saw {sorted(mapping)}"
            return
        kinds = series_kinds(deployment.metrics_url)
        assert mapping.keys() & kinds.keys() or not mapping, f"none of the mapped series is there, saw {sorted(kinds)}"
        for series in mapping.keys() & kinds.keys():
            kind, _ = CANONICAL[mapping[series].name]
            assert kinds[series] == kind, f"{series}: {mapping[series].name} is a {kind}, saw {kinds[series]}"

    def test_stop_leaves_nothing(self, deployment: LocalDeployment) -> None:
        """Neither processes nor ports nor memory."""
        tree = engine_tree(deployment)
        assert tree, "expected a running engine"
        assert_nothing_is_left(deployment, tree)

    def test_a_killed_root_leaves_nothing(self, deployment: LocalDeployment) -> None:
        """The end is seen, and what the root had started ends with it."""
        tree = engine_tree(deployment)
        os.kill(deployment.root_pid, signal.SIGKILL)
        await_seen_end(deployment, DEATH_SEEN_S)
        assert_nothing_is_left(deployment, tree)
