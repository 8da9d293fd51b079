"""What a profile says of shared prefixes."""

from pydantic import Field, FiniteFloat

from workloads.model import Frozen, PrefixTree


class LruPoint(Frozen):
    """What a cache of limited size would have reused, evicting the least recently used block."""

    capacity_tokens: int
    block_hit_ratio: FiniteFloat


class Prefix(Frozen):
    """Reuse of prompt blocks across requests, from the trace's own block ids."""

    block_tokens: int
    num_blocks: int
    num_distinct_blocks: int
    token_reuse_ratio: FiniteFloat = Field(description="reused over all input tokens, with an infinite cache")
    block_reuse_ratio: FiniteFloat = Field(description="reused over all blocks, with an infinite cache")
    block_reuse_ratio_without_first: FiniteFloat = Field(
        description="reused blocks that are not a prompt's first, over all blocks, with an infinite cache"
    )
    shared_first_block_ratio: FiniteFloat = Field(description="requests whose first block another request has as well")
    reuse_interval_p50_s: FiniteFloat | None = Field(
        description="time since a block was last asked, over reused blocks that are not a prompt's first; None for none"
    )
    reuse_interval_p90_s: FiniteFloat | None
    lru: tuple[LruPoint, ...] = Field(description="rising capacities, among them 0.5, 5, 15 and 51 million tokens")
    lru_sampled_ratio: FiniteFloat | None = Field(
        default=None, description="share of distinct blocks, taken by hash, that `lru` was measured on; None for all"
    )
    tree: PrefixTree | None = Field(description="the table that synthesis draws from; None where nothing is shared")
