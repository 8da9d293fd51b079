"""Brings an engine's prefix cache into the state that a study asks for, right before a load is offered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adapters.openai import encode_request
from adapters.protocol import Capabilities, EngineConfig
from orchestrator.domain.cache import CacheFacts, CachePolicy, Enforcement, WarmCache
from orchestrator.domain.clock import Clock
from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.errors import InputError, MeasurementRefusedError
from orchestrator.domain.load import OfferedLoad, OpenLoad
from orchestrator.domain.study import StudySpec
from orchestrator.replay import PreparedRequest, Timing, replay_open, reset_cache
from orchestrator.replay.encoding import EncodedRequests
from orchestrator.trials.traffic import Target, Traffic, prompts_of
from orchestrator.trials.warmth import ASSUMED_BLOCK_TOKENS, shared_tokens, warm_tokens
from workloads.prompts import PromptMaker
from workloads.schedule import Schedule
from workloads.vocabulary import REPLACEMENT

SALTED_BY_LOAD = ("salted", "cold")
TOKENS_IN_SLOTS = 32


@dataclass(frozen=True, slots=True)
class Grain:
    """How an engine keeps prefixes: in blocks of so many tokens, in so many slots that share nothing."""

    block_tokens: int | None
    slots: int = 1


@dataclass(frozen=True, slots=True)
class WarmPrompts:
    """Prompts that begin with one text, `tokens[i]` of it in request i, and go on as `rest` makes them."""

    rest: PromptMaker
    prefix_salt: str
    tokens: NDArray[np.int64]

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> list[int]:
        """Return the prompt as token ids: exactly so many of the prefix."""
        warm = int(self.tokens[index])
        return self.prefix_ids(schedule)[:warm] + self.rest.token_ids(schedule, index, salt=salt)[warm:]

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        """Return the prompt as text: about so many tokens of the prefix, since a server joins tokens anew."""
        pool = self.rest.tokens
        if pool is not None:
            return pool.vocabulary.decode(self.token_ids(schedule, index, salt=salt)).replace(REPLACEMENT, "")
        prefix, whole = self.prefix_text(schedule), self.rest.text(schedule, index, salt=salt)
        share = int(self.tokens[index]) / int(schedule.input_tokens[index])
        cut = round(len(whole) * share)
        return prefix[:cut] + whole[cut:]

    def prefix_ids(self, schedule: Schedule) -> list[int]:
        """Return the longest prefix as token ids."""
        return self.rest.token_ids(schedule, _longest(schedule), salt=self.prefix_salt)[: int(self.tokens.max())]

    def prefix_text(self, schedule: Schedule) -> str:
        """Return the prefix as text, as long as the longest prompt, so that no prompt's share of it is missing."""
        return self.rest.text(schedule, _longest(schedule), salt=self.prefix_salt)


def salt_for(study: StudySpec, load: OfferedLoad) -> str:
    """Name the prompts' salt: the load's own where nothing may carry over, one for all loads otherwise."""
    is_own = study.cache in SALTED_BY_LOAD or isinstance(study.cache, WarmCache)
    return f"{study.seed}/{load.mode}/{load.step}" if is_own else f"{study.seed}"


def empty_cache(
    policy: CachePolicy, endpoint: Endpoint, capabilities: Capabilities, *, engine: str
) -> Enforcement | None:
    """Empty the cache where the policy wants it so, and say how nothing carries over; None where all may.

    Raises:
        MeasurementRefusedError: the policy is `reset` and the engine cannot.
        InputError: the policy is `reset` and the engine's server refuses.
    """
    path = capabilities.cache_reset_path
    match policy:
        case "reset":
            if path is None:
                raise MeasurementRefusedError(
                    f"cache: reset needs an engine that can reset its prefix cache; {engine} cannot, use cold"
                )
            reset_cache(endpoint.base_url, path, endpoint.key)
            return "reset"
        case "cold":
            return "reset" if path is not None and _is_emptied(endpoint, path) else "salt"
        case "salted":
            return "salt"
        case "natural":
            return None
        case WarmCache():
            return "prefix"


def set_warmth(
    study: StudySpec, traffic: Traffic, *, target: Target, grain: Grain, salt: str, clock: Clock
) -> tuple[Traffic, CacheFacts]:
    """Make the traffic's prompts warm where the policy says so, send their prefix; return traffic and what to expect.

    Raises:
        MeasurementRefusedError: the traffic cannot hit as asked, or the engine did not answer the prefix.
    """
    policy, schedule = study.cache, traffic.schedule
    block_tokens = grain.block_tokens or ASSUMED_BLOCK_TOKENS
    facts = CacheFacts(str(policy), block_tokens=grain.block_tokens, has_template=study.workload.dialect == "chat")
    if policy == "natural":
        return traffic, facts
    shared = shared_tokens(schedule, block_tokens=grain.block_tokens or 1)
    if not isinstance(policy, WarmCache):
        return traffic, replace(facts, expected_tokens=shared)
    warm = warm_tokens(schedule, shared, policy.warm, block_tokens=block_tokens)
    maker = prompts_of(study.workload, target.tokenizer, target.tokens_per_character)
    prompts = WarmPrompts(maker, f"{salt}/warm", warm)
    _send_prefix(study, prompts, schedule, target=target, slots=grain.slots, clock=clock)
    requests = EncodedRequests(
        schedule,
        prompts,
        endpoint=target.endpoint,
        dialect=target.dialect(study.workload.dialect),
        salt=salt,
        seed=study.workload.seed,
        forces_length=traffic.stop == "forced",
    )
    expected = np.maximum(shared, warm)
    return replace(traffic, requests=requests), replace(facts, asked_hit_ratio=policy.warm, expected_tokens=expected)


def grain_of(engine: str, config: EngineConfig, resolved: Mapping[str, str]) -> Grain:
    """Say how an engine keeps prefixes, by what it said of itself, else by its settings."""
    told = resolved.get("block_size", "")
    match engine:
        case "simulated":
            return Grain(block_tokens=16)
        case "llamacpp":
            return Grain(block_tokens=1, slots=getattr(config, "n_parallel", 1))
        case "sglang":
            return Grain(block_tokens=getattr(config, "page_size", None) or 1)
        case "trtllm":
            return Grain(block_tokens=getattr(config, "kv_cache_config_tokens_per_block", None))
        case _:
            return Grain(block_tokens=int(told) if told.isdecimal() else getattr(config, "block_size", None))


def _is_emptied(endpoint: Endpoint, path: str) -> bool:
    try:
        reset_cache(endpoint.base_url, path, endpoint.key)
    except InputError:  # the route is switched off: the salt alone keeps the cache cold
        return False
    return True


def _send_prefix(
    study: StudySpec, prompts: WarmPrompts, schedule: Schedule, *, target: Target, slots: int, clock: Clock
) -> None:
    """Ask for an answer to the prefix: each model and adapter by name, once for every slot at the same time.

    One token is enough where there are no slots; where there are, each answer must last until the others have begun, or
    one slot would take them all.
    """
    if not prompts.tokens.any():
        return
    dialect = target.dialect(study.workload.dialect)
    prefix = prompts.prefix_ids(schedule) if dialect.takes_token_ids else prompts.prefix_text(schedule)
    timeout_s = study.window.request_timeout_s
    for model in (target.endpoint.model, *study.workload.lora):
        body = encode_request(prefix, model, dialect=dialect, max_tokens=1 if slots == 1 else TOKENS_IN_SLOTS)
        log = replay_open(
            [PreparedRequest(index, 0, body, None, 1) for index in range(slots)],
            target.endpoint,
            load=OpenLoad(rate_rps=slots),
            timing=Timing(warmup_s=0.0, measure_s=0.05, drain_s=timeout_s, request_timeout_s=timeout_s),
            clock=clock,
            dialect=dialect,
        )
        failed = [one for one in log.records if one.failure is not None]
        if failed or len(log.records) != slots:
            seen = f"{failed[0].failure}: {failed[0].failure_detail}" if failed else f"{len(log.records)} answers"
            raise MeasurementRefusedError(
                f"cache: {study.cache}: expected {slots} answers to the prefix of {int(prompts.tokens.max())} tokens "
                f"that warms the cache of {model}, seen {seen}"
            )


def _longest(schedule: Schedule) -> int:
    return int(np.argmax(schedule.input_tokens))
