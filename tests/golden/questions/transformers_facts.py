"""Run by the interpreter of `transformers serve`: prints its flags with their defaults; it has no series.

`constants` are what it falls back on where a flag of its paged cache is left out.
"""

import inspect
import json
import sys
from importlib.metadata import version

import transformers
from transformers.cli.serve import Serve
from transformers.generation.continuous_batching import cache, initialization


def flags() -> dict[str, object]:
    parameters = inspect.signature(Serve.__init__).parameters.values()
    return {one.name: getattr(one.default, "value", one.default) for one in parameters if one.name != "self"}


def constants() -> dict[str, object]:
    return {
        "block_tokens": transformers.ContinuousBatchingConfig().page_size,
        "batch_tokens": cache.PagedAttentionMemoryHandler._default_max_batch_tokens,
        "max_requests": initialization.FALLBACK_DEFAULTS["max_requests_per_batch"],
    }


if __name__ == "__main__":
    facts = {"version": version("transformers"), "flags": flags(), "constants": constants(), "metrics": []}
    json.dump(facts, sys.stdout)
