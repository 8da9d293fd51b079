"""Measures a server that somebody else started: discover, offer one load, summarise. Starts and stops nothing."""

from dataclasses import dataclass
from pathlib import Path

from adapters.protocol import Capabilities
from orchestrator.domain.clock import Clock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog
from orchestrator.domain.slo import Slo
from orchestrator.domain.study import WindowSpec
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.replay.server import count_tokens, count_tokens_by_usage, served_models, server_kind
from orchestrator.trials.measuring import utc_now
from orchestrator.trials.traffic import Target, check_lora, offer, traffic_for
from workloads.corpus import english_corpus
from workloads.digest import digest
from workloads.prompts import ENGLISH_TOKENS_PER_CHARACTER
from workloads.workload import Workload

# What is known of servers by the way they introduce themselves; a stranger is asked for nothing special.
KNOWN_SERVERS = {
    "vllm": Capabilities(output_length_control="ignore_eos", cache_reset_path="/reset_prefix_cache"),
    "llamacpp": Capabilities(output_length_control="ignore_eos"),
    "simulated": Capabilities(output_length_control="ignore_eos", is_simulated=True),
}
STRANGER = Capabilities(accepts_token_prompts=False)
SAMPLE = slice(10_000, 11_000)


@dataclass(frozen=True, slots=True)
class Visit:
    """What one load did to a stranger's server: the figures and the raw records."""

    measurement: Measurement
    log: ReplayLog
    server: str


def find_target(url: str, *, model: str | None, key: str | None, tokenizer: Path | None) -> tuple[Target, str]:
    """Ask a server who it is and what it serves; return the target and the kind of server.

    Raises:
        InputError: nothing answers, or the model is not served; the served names are listed.
    """
    base_url = url.rstrip("/").removesuffix("/v1")
    served = served_models(base_url, key)
    if model is None and len(served) != 1:
        raise InputError(f"{url}: serves {len(served)} models ({', '.join(served)}); choose one with --model")
    chosen = model if model is not None else served[0]
    if chosen not in served:
        raise InputError(f"{url}: does not serve {chosen!r}; it serves {', '.join(served)}")
    kind = server_kind(base_url, key)
    endpoint, capabilities = Endpoint(base_url, chosen, key=key), KNOWN_SERVERS.get(kind, STRANGER)
    if tokenizer is not None:
        return Target(endpoint, capabilities, tokenizer), kind
    return Target(endpoint, capabilities, None, _tokens_per_character(endpoint)), kind


def _tokens_per_character(endpoint: Endpoint) -> float:
    """Ask the server how many tokens a piece of the prompts' text has: by its tokenizer, else by its usage."""
    text = english_corpus().text[SAMPLE]
    count = count_tokens(endpoint.base_url, text, endpoint.key)
    if count is None:
        count = count_tokens_by_usage(endpoint.base_url, text, endpoint.model, endpoint.key)
    return count / len(text) if count else ENGLISH_TOKENS_PER_CHARACTER


def visit(
    target: Target,
    load: OfferedLoad,
    *,
    server: str,
    workload: Workload,
    window: WindowSpec,
    slo: Slo | None,
    clock: Clock,
    cpus: tuple[int, ...] | None = None,
) -> Visit:
    """Offer one load to a server and say what came of it; its prompts are salted with the time."""
    check_lora(workload, target.endpoint)
    started_at = utc_now(clock)
    traffic = traffic_for(workload, load, window, target=target, salt=started_at)
    log = offer(traffic, load, window, target=target, route=workload.dialect, clock=clock, cpus=cpus)
    facts = MeasurementFacts(
        trial_digest=digest({"server": server, "url": target.endpoint.base_url, "model": target.endpoint.model}),
        schedule_digest=traffic.schedule.digest,
        content=workload.content,
        length_scale=workload.lengths.input_factor,
        cache_policy="salted",
        is_simulated=target.capabilities.is_simulated,
        started_at=started_at,
        warmup_s=window.warmup_s,
        stop=traffic.stop,
    )
    return Visit(summarise(log, facts, slo=slo, telemetry=None), log, server)
