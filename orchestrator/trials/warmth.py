"""How many leading tokens of each prompt a cache should hold: by sharing in the traffic, and by a warm prefix.

Pure arithmetic on schedules; sends nothing. A hit is counted in whole blocks of the engine's.
"""

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.errors import MeasurementRefusedError
from workloads.schedule import Schedule

ASSUMED_BLOCK_TOKENS = 16  # of an engine that does not say: vLLM's and many others', and a multiple of one token


def shared_tokens(schedule: Schedule, *, block_tokens: int) -> NDArray[np.int64]:
    """Return how many leading tokens each request shares with earlier ones of its schedule, in whole blocks.

    An upper bound of what a cache finds: it counts as if nothing were ever evicted, and as if the earlier request had
    been computed when the later came. With blocks of one token, the salt's own word, which all prompts begin with,
    counts too.
    """
    seen: set[int] = set()
    found = np.zeros(len(schedule), dtype=np.int64)
    for index in range(len(schedule)):
        found[index] = max(_leading(schedule, index, seen), min(index, 1))
    return found // block_tokens * block_tokens


def warm_tokens(
    schedule: Schedule, shared: NDArray[np.int64], hit_ratio: float, *, block_tokens: int
) -> NDArray[np.int64]:
    """Return how many leading tokens of each prompt must be sent beforehand so that `hit_ratio` of all tokens hit.

    One length for all prompts in whole blocks. Where blocks are longer than a token, some prompts get one block more,
    evenly spread, so that the ratio is met more exactly; not so where requests share blocks, which prefixes of two
    lengths would part. The last token of a prompt is always computed, so it never counts.

    Raises:
        MeasurementRefusedError: the traffic shares more already, or its prompts cannot reach the ratio.
    """
    prompts = schedule.input_tokens.astype(np.int64)
    most = (prompts - 1) // block_tokens * block_tokens
    least_ratio, most_ratio = (_ratio(np.maximum(shared, one), prompts) for one in (np.zeros_like(most), most))
    if not least_ratio <= hit_ratio <= most_ratio:
        raise MeasurementRefusedError(
            f"cache: warm: {hit_ratio:g}: of this traffic's prompt tokens {least_ratio:.1%} are shared among its own "
            f"requests and at most {most_ratio:.1%} can be warm (prompts of {prompts.mean():.0f} tokens on average, in "
            f"blocks of {block_tokens}); ask for a share in between, or send longer prompts"
        )
    is_uniform = block_tokens == 1 or schedule.blocks is not None
    step = len(schedule) if is_uniform else 1  # blocks over all requests that one step adds
    low, high = 0, int(most.max()) // block_tokens * len(schedule) // step
    while low < high:  # the smallest number of steps that reaches the ratio
        middle = (low + high) // 2
        is_enough = _ratio(np.maximum(shared, _spread(middle * step, most, block_tokens)), prompts) >= hit_ratio
        low, high = (low, middle) if is_enough else (middle + 1, high)
    fewer, more = (_spread(steps * step, most, block_tokens) for steps in (max(0, low - 1), low))
    fewer_error, more_error = (abs(_ratio(np.maximum(shared, one), prompts) - hit_ratio) for one in (fewer, more))
    return fewer if fewer_error < more_error else more


def _leading(schedule: Schedule, index: int, seen: set[int]) -> int:
    if schedule.blocks is None or schedule.block_tokens is None:
        return 0
    ids = schedule.blocks.of(index).tolist()
    count = next((place for place, one in enumerate(ids) if one not in seen), len(ids))
    seen.update(ids)
    return min(count * schedule.block_tokens, int(schedule.input_tokens[index]))


def _spread(blocks: int, most: NDArray[np.int64], block_tokens: int) -> NDArray[np.int64]:
    """Give each request its share of so many blocks, those that get one more evenly among the others."""
    each, more = divmod(blocks, len(most))
    places = np.arange(len(most) + 1, dtype=np.int64) * more // len(most)
    spread: NDArray[np.int64] = np.minimum((each + np.diff(places)) * block_tokens, most)
    return spread


def _ratio(tokens: NDArray[np.int64], prompts: NDArray[np.int64]) -> float:
    return float(tokens.sum() / prompts.sum())
