"""A model's tokenizer: which ids are ordinary text, and how text becomes ids. Wraps one tokenizer.json."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from workloads.digest import DIGEST_CHARS

CHUNK_CHARACTERS = 1 << 16
MIN_MARK_CHARACTERS = 2
REPLACEMENT = "\ufffd"


class VocabularyError(ValueError):
    """A tokenizer cannot be used: which file, why, what to do."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer and its ordinary ids (int64, ascending).

    `plain_ids` decode to text on their own and are no added token; `mark_ids` are those that decode to a plain word.
    """

    tokenizer: Tokenizer = field(repr=False)
    added_ids: frozenset[int] = field(repr=False)
    plain_ids: NDArray[np.int64] = field(repr=False)
    mark_ids: NDArray[np.int64] = field(repr=False)
    digest: str

    def encode(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokenise text; return its ids without added tokens, and the places at which a character begins."""
        ids: list[int] = []
        starts: list[int] = []
        for begin in range(0, len(text), CHUNK_CHARACTERS):
            encoding = self.tokenizer.encode(text[begin : begin + CHUNK_CHARACTERS], add_special_tokens=False)
            last_end = 0
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                if token not in self.added_ids:
                    if start >= last_end:
                        starts.append(len(ids))
                    ids.append(token)
                last_end = end
        return np.array(ids, dtype=np.int64), np.array(starts, dtype=np.int64)

    def decode(self, token_ids: list[int]) -> str:
        """Turn ids into text; a character that a cut broke becomes U+FFFD."""
        return self.tokenizer.decode(token_ids, skip_special_tokens=False)


def load_vocabulary(path: Path, *, vocab_size: int | None = None) -> Vocabulary:
    """Load a tokenizer.json, or the one in a folder.

    Raises:
        VocabularyError: there is no such file, or it has ids that a model of `vocab_size` has not.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise VocabularyError(f"{file}: no such file; give a tokenizer.json or a folder that holds one")
    data = file.read_bytes()
    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added_ids = frozenset(tokenizer.get_added_tokens_decoder())
    pieces = {token: tokenizer.decode([token]) for token in sorted(tokenizer.get_vocab().values())}
    plain = {token: piece for token, piece in pieces.items() if token not in added_ids and _is_text(piece)}
    marks = [token for token, piece in plain.items() if _is_word(piece.strip())]
    if not marks:
        raise VocabularyError(f"{file}: no token of it is a word; is it the model's tokenizer?")
    if vocab_size is not None and max(plain) >= vocab_size:
        raise VocabularyError(
            f"{file}: token id {max(plain)} does not fit a model of {vocab_size} ids; is it the model's tokenizer?"
        )
    return Vocabulary(
        tokenizer=tokenizer,
        added_ids=added_ids,
        plain_ids=np.array(sorted(plain), dtype=np.int64),
        mark_ids=np.array(marks, dtype=np.int64),
        digest=hashlib.sha256(data).hexdigest()[:DIGEST_CHARS],
    )


def _is_text(piece: str) -> bool:
    return bool(piece) and REPLACEMENT not in piece


def _is_word(piece: str) -> bool:
    return len(piece) >= MIN_MARK_CHARACTERS and piece.isascii() and piece.isalpha()
