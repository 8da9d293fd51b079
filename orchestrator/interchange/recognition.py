"""Which tool a JSON document comes from, and what it says in our words."""

from collections.abc import Mapping

from orchestrator.domain.errors import InputError
from orchestrator.interchange.foreign import ForeignMeasurement
from orchestrator.interchange.from_aiperf import from_aiperf, is_aiperf
from orchestrator.interchange.from_guidellm import from_guidellm, is_guidellm
from orchestrator.interchange.from_vllm import from_vllm_bench, is_vllm_bench

KNOWN = "vllm bench serve --save-result, GuideLLM's benchmarks.json, AIPerf's profile_export_aiperf.json"


def read_foreign(document: object, name: str) -> tuple[ForeignMeasurement, ...]:
    """Read a document, one measurement a load; `name` stands in the message.

    Raises:
        InputError: no known tool writes such a document.
    """
    if isinstance(document, Mapping):
        if is_guidellm(document):
            return from_guidellm(document)
        if is_aiperf(document):
            return (from_aiperf(document),)
        if is_vllm_bench(document):
            return (from_vllm_bench(document),)
    raise InputError(f"{name}: not recognised as a benchmark's result; known: {KNOWN}")
