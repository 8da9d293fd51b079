"""Asks MII's own classes, in its own environment: what they make of settings, their defaults, what they refuse.

Reads a list of settings from stdin and writes one JSON object to stdout.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from mii.api import _parse_kwargs_to_mii_config
from mii.batching.data_classes import Request
from mii.config import GenerateParamsConfig

LEAST_TOKENS = 5


def resolve(settings: dict[str, Any]) -> dict[str, Any]:
    resolved: dict[str, Any] = _parse_kwargs_to_mii_config(mii_config=settings).model_dump(mode="json")
    return resolved


def refusal(act: Callable[[], object]) -> str | None:
    try:
        act()
    except ValueError as error:
        return str(error)
    return None


def ends_before_its_least_tokens() -> bool:
    """Say whether a request stops at the end of text although it lacks tokens that it must have: its prompt counts."""
    options = GenerateParamsConfig(prompt_length=10, max_length=100, min_new_tokens=LEAST_TOKENS)
    request = Request(
        tid=0,
        uid=1,
        input_tokens=None,
        prompt_tokens=list(range(10)),
        seq_length=10,
        last_in_prompt=True,
        post_processing=[],
        generate_params=options,
    )
    request.is_done = True
    return request.stop_generation and request.num_generated_tokens < LEAST_TOKENS


def main() -> None:
    found = {
        "resolved": [resolve(settings) for settings in json.load(sys.stdin)],
        "defaults": resolve({"deployment_name": "any", "model_config": {"model_name_or_path": "any"}}),
        "unknown_key": refusal(
            lambda: resolve({"deployment_name": "any", "model_config": {"model_name_or_path": "any", "no_such": 1}})
        ),
        "too_many_sequences": refusal(
            lambda: resolve(
                {
                    "deployment_name": "any",
                    "model_config": {
                        "model_name_or_path": "any",
                        "inference_engine_config": {"state_manager": {"max_ragged_sequence_count": 769}},
                    },
                }
            )
        ),
        "temperature_zero": refusal(lambda: GenerateParamsConfig(prompt_length=1, max_length=9, temperature=0)),
        "ends_before_its_least_tokens": ends_before_its_least_tokens(),
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
