"""Texts as token counts and chained block hashes; the texts themselves go no further.

Each piece of a prompt is tokenised on its own, so tokens that a chat template puts between pieces are not counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from workloads.blocks import BlockIds, make_blocks, offsets_of
from workloads.readers.format import CountTokens
from workloads.readers.identity import keyed_hash
from workloads.vocabulary import load_vocabulary

BLOCK_TOKENS = 16
LINK_BYTES = 16
ID_BYTES = 8


class Texts(NamedTuple):
    """What one request said: the pieces of its prompt in order, and the answer, None where there is none."""

    prompt: tuple[str, ...]
    answer: str | None


class Counted(NamedTuple):
    """Tokens of a batch, None where there was no text; `blocks` are None where the counter knows no token ids."""

    input_tokens: list[int | None]
    output_tokens: list[int | None]
    blocks: list[list[int] | None] | None


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens as one model's tokenizer does, without special tokens, and knows their ids."""

    tokenizer: Tokenizer = field(repr=False)

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(ids) for ids in self.encode(texts)]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [one.ids for one in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def counter_from(tokenizer_path: Path) -> CountTokens:
    """Return a counter for a tokenizer.json, or for the one in a folder.

    Raises:
        VocabularyError: there is no such file, or it is no tokenizer.
    """
    return TokenCounter(load_vocabulary(tokenizer_path).tokenizer)


def chain_blocks(token_ids: Iterable[Sequence[int]], salt: bytes, block_tokens: int = BLOCK_TOKENS) -> BlockIds:
    """Hash prompts in blocks of tokens, each id standing for the whole prefix up to its block.

    The last block of a prompt may be partly full. Ids are 63 bits of a BLAKE2b hash that is keyed with the salt and
    takes in the hash before it, as vLLM chains its blocks, so without the salt no prompt can be tried out on them.
    """
    ids = [_chain(one, salt, block_tokens) for one in token_ids]
    counts = np.array([len(one) for one in ids], dtype=np.int64)
    return make_blocks(offsets_of(counts), np.array([value for one in ids for value in one], dtype=np.int64))


def count_texts(batch: Sequence[Texts | None], count_tokens: CountTokens, *, salt: bytes) -> Counted:
    """Count a batch, each distinct piece once; make blocks where the counter knows token ids."""
    pieces = list(dict.fromkeys(piece for texts in batch if texts is not None for piece in _pieces(texts)))
    if not isinstance(count_tokens, TokenCounter):
        return _counted(batch, dict(zip(pieces, count_tokens(pieces), strict=True)), None)
    ids = dict(zip(pieces, count_tokens.encode(pieces), strict=True))
    blocks = [
        None if texts is None else _chain([token for piece in texts.prompt for token in ids[piece]], salt, BLOCK_TOKENS)
        for texts in batch
    ]
    return _counted(batch, {piece: len(tokens) for piece, tokens in ids.items()}, blocks)


def _counted(batch: Sequence[Texts | None], lengths: dict[str, int], blocks: list[list[int] | None] | None) -> Counted:
    return Counted(
        [None if texts is None else sum(lengths[piece] for piece in texts.prompt) for texts in batch],
        [None if texts is None or texts.answer is None else lengths[texts.answer] for texts in batch],
        blocks,
    )


def _pieces(texts: Texts) -> tuple[str, ...]:
    return texts.prompt if texts.answer is None else (*texts.prompt, texts.answer)


def _chain(tokens: Sequence[int], salt: bytes, block_tokens: int) -> list[int]:
    data = np.array(tokens, dtype="<u4")
    link, ids = b"", []
    for start in range(0, len(data), block_tokens):
        link = keyed_hash(
            link + data[start : start + block_tokens].tobytes(), salt=salt, kind="block", num_bytes=LINK_BYTES
        )
        ids.append(int.from_bytes(link[:ID_BYTES], "little") >> 1)
    return ids
