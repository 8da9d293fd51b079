"""Which leading blocks of a prompt were seen before. Holds hashes, no tokens; evicts the least recently used."""

from adapters.simulated.dialect import Tokens

BLOCK_TOKENS = 16


class PrefixCache:
    """Blocks of 16 tokens, each keyed by all tokens up to its end."""

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity_blocks = capacity_tokens // BLOCK_TOKENS
        self._blocks: dict[int, None] = {}

    def admit(self, prompt: Tokens) -> int:
        """Remember a prompt's full blocks and return how many of its tokens were there already."""
        hit_blocks = 0
        is_hit = True
        key = 0
        for start in range(0, len(prompt) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
            key = hash((key, prompt[start : start + BLOCK_TOKENS]))
            is_hit = is_hit and key in self._blocks
            hit_blocks += is_hit
            self._blocks.pop(key, None)
            self._blocks[key] = None
        while len(self._blocks) > self._capacity_blocks:
            self._blocks.pop(next(iter(self._blocks)))
        return hit_blocks * BLOCK_TOKENS

    def reset(self) -> None:
        """Forget everything."""
        self._blocks.clear()
