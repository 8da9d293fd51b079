"""llama.cpp's real server, deployed, keeps the rules of every engine."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from adapters.llamacpp.adapter import LlamaCppAdapter
from adapters.protocol import ModelRef
from orchestrator.deploy.conformance import EngineConformance

pytestmark = pytest.mark.engine


class TestLlamaCppEngine(EngineConformance):
    adapter = LlamaCppAdapter()
    settings: ClassVar[Mapping[str, object]] = {"n_ctx": 512, "n_threads": 1}

    @pytest.fixture
    def model(self, smollm2_variants: dict[str, ModelRef]) -> ModelRef:
        return smollm2_variants["q8_0"]
