"""Measures a server that somebody else started: discover, offer one load, summarise. Starts and stops nothing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adapters.protocol import Capabilities
from orchestrator.domain.clock import Clock, utc_now
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError
from orchestrator.domain.load import OfferedLoad
from orchestrator.domain.measurement import Measurement
from orchestrator.domain.records import ReplayLog
from orchestrator.domain.slo import Slo
from orchestrator.domain.telemetry import Telemetry
from orchestrator.domain.window import WindowSpec
from orchestrator.metrics.summary import MeasurementFacts, summarise
from orchestrator.replay.server import count_tokens, count_tokens_by_usage, served_models, server_kind
from orchestrator.trials.counted import counted
from orchestrator.trials.traffic import Target, Traffic, check_lora, offer, traffic_for
from workloads.corpus import english_corpus
from workloads.digest import digest
from workloads.prompts import ENGLISH_TOKENS_PER_CHARACTER
from workloads.workload import Workload

# What is known of servers by the way they introduce themselves; a stranger is asked for nothing special.
KNOWN_SERVERS = {
    "vllm": Capabilities(output_length_control="ignore_eos", cache_reset_path="/reset_prefix_cache"),
    "llamacpp": Capabilities(output_length_control="ignore_eos", keeps_alive=False),
    "sglang": Capabilities(output_length_control="ignore_eos", cache_reset_path="/flush_cache"),
    "trtllm": Capabilities(output_length_control="ignore_eos"),
    "simulated": Capabilities(output_length_control="ignore_eos", is_simulated=True),
}
STRANGER = Capabilities(accepts_token_prompts=False)
SAMPLE = slice(10_000, 11_000)


@dataclass(frozen=True, slots=True)
class Visit:
    """What one load did to a stranger's server: the figures, the raw records, what was sampled beside them."""

    measurement: Measurement
    log: ReplayLog
    server: str
    telemetry: Telemetry | None = None


def find_target(
    url: str, *, model: str | None, key: str | None, tokenizer: Path | None, proxy: str | None = None
) -> tuple[Target, str]:
    """Ask a server who it is and what it serves; return the target and the kind of server.

    Questions go through `proxy`, where one is named, and so will what is sent to the target.

    Raises:
        InputError: nothing answers, or the model is not served; the served names are listed.
    """
    base_url = url.rstrip("/").removesuffix("/v1")
    served = served_models(base_url, key, proxy=proxy)
    if model is None and len(served) != 1:
        raise InputError(f"{url}: serves {len(served)} models ({', '.join(served)}); choose one with --model")
    chosen = model if model is not None else served[0]
    if chosen not in served:
        raise InputError(f"{url}: does not serve {chosen!r}; it serves {', '.join(served)}")
    kind = server_kind(base_url, key, proxy=proxy)
    endpoint = Endpoint(base_url, chosen, key=key, proxy=proxy)
    capabilities = KNOWN_SERVERS.get(kind, STRANGER)
    if tokenizer is not None:
        return Target(endpoint, capabilities, tokenizer), kind
    return Target(endpoint, capabilities, None, _tokens_per_character(endpoint)), kind


def _tokens_per_character(endpoint: Endpoint) -> float:
    """Ask the server how many tokens a piece of the prompts' text has: by its tokenizer, else by its usage."""
    text = english_corpus().text[SAMPLE]
    url, key, proxy = endpoint.base_url, endpoint.key, endpoint.proxy
    count = count_tokens(url, text, key, proxy=proxy)
    if count is None:
        count = count_tokens_by_usage(url, text, endpoint.model, key, proxy=proxy)
    return count / len(text) if count else ENGLISH_TOKENS_PER_CHARACTER


class Watcher(Protocol):
    """What samples the server beside a visit."""

    def await_ready(self) -> None:
        """Return once it samples."""
        ...

    def snapshot(self) -> Telemetry:
        """Return everything sampled so far."""
        ...


def visit(  # noqa: PLR0913 - what may differ between two visits, named
    target: Target,
    load: OfferedLoad,
    *,
    server: str,
    workload: Workload,
    window: WindowSpec,
    slo: Slo | None,
    clock: Clock,
    cpus: tuple[int, ...] | None = None,
    requests: int | None = None,
    watcher: Watcher | None = None,
    workers: int | None = None,
    stays_awake: bool = False,
) -> Visit:
    """Offer one load to a server and say what came of it; its prompts are salted with the time.

    `requests` ends the window after so many of them, `watcher` samples the server meanwhile, `workers` processes send,
    and stay awake on cores that they have to themselves.

    Raises:
        InputError: the server does not answer, or endpoint or cores are of no use.
        MeasurementRefusedError: the server lacks an adapter, or the client cannot carry the load.
        TraceError: the workload's trace cannot carry the load.
    """
    check_lora(workload, target.endpoint)
    started_at = utc_now(clock)

    def make(span: WindowSpec) -> Traffic:
        return traffic_for(workload, load, span, target=target, salt=started_at)

    traffic, window = (make(window), window) if requests is None else counted(make, load, window, requests=requests)
    if watcher is not None:
        watcher.await_ready()
    log = offer(
        traffic,
        load,
        window,
        target=target,
        route=workload.dialect,
        clock=clock,
        cpus=cpus,
        workers=workers,
        stays_awake=stays_awake,
    )
    telemetry = None if watcher is None else watcher.snapshot()
    facts = MeasurementFacts(
        trial_digest=digest({"server": server, "url": target.endpoint.base_url, "model": target.endpoint.model}),
        schedule_digest=traffic.schedule.digest,
        content=workload.content,
        length_scale=workload.lengths.input_factor,
        cache_policy="salted",
        is_simulated=target.capabilities.is_simulated,
        started_at=started_at,
        warmup_s=window.warmup_s,
        measure_s=window.measure_s,
        stop=traffic.stop,
    )
    return Visit(summarise(log, facts, slo=slo, telemetry=telemetry), log, server, telemetry)
