"""A model's tokenizer: which ids are ordinary text, and how text becomes ids. Wraps one tokenizer.json."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloads.digest import DIGEST_CHARS
from workloads.errors import WorkloadError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHUNK_CHARACTERS = 1 << 16
WORD_TOKEN = re.compile(
    "[\u0120\u2581]?[A-Za-z]{2,}"
)  # a leading space: G with dot in byte-level BPE, U+2581 elsewhere
REPLACEMENT = "\ufffd"


class VocabularyError(WorkloadError):
    """A tokenizer cannot be used: which file, why, what to do."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer; `mark_ids` (int64, ascending) are the tokens that are a word, with or without a space before it."""

    tokenizer: "Tokenizer" = field(repr=False)
    added_ids: frozenset[int] = field(repr=False)
    mark_ids: NDArray[np.int64] = field(repr=False)
    digest: str

    def encode(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokenise text; return its ids without added tokens, and the places at which a character begins."""
        chunks = [self._encode_chunk(text[at : at + CHUNK_CHARACTERS]) for at in range(0, len(text), CHUNK_CHARACTERS)]
        ids = np.concatenate([ids for ids, _ in chunks])
        return ids, np.flatnonzero(np.concatenate([is_start for _, is_start in chunks]))

    def plain_ids(self) -> NDArray[np.int64]:
        """Return the ids (ascending) that decode to whole characters on their own and are no added token."""
        known = sorted(set(self.tokenizer.get_vocab().values()) - self.added_ids)
        return np.array([token for token in known if _is_text(self.tokenizer.decode([token]))], dtype=np.int64)

    def decode(self, token_ids: list[int]) -> str:
        """Turn ids into text; a character that a cut broke becomes U+FFFD."""
        return self.tokenizer.decode(token_ids, skip_special_tokens=False)

    def _encode_chunk(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int64)
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        is_start = offsets[:, 0] >= np.concatenate([np.zeros(1, dtype=np.int64), offsets[:-1, 1]])
        is_kept = ~np.isin(ids, list(self.added_ids))
        return ids[is_kept], is_start[is_kept]


def load_vocabulary(path: Path, *, vocab_size: int | None = None) -> Vocabulary:
    """Load a tokenizer.json, or the one in a folder.

    Raises:
        VocabularyError: there is no such file, or it has ids that a model of `vocab_size` has not.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 - text of approximate size needs none

    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise VocabularyError(f"{file}: no such file; give a tokenizer.json or a folder that holds one")
    data = file.read_bytes()
    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added_ids = frozenset(tokenizer.get_added_tokens_decoder())
    ids = {token: number for token, number in tokenizer.get_vocab().items() if number not in added_ids}
    marks = sorted(number for token, number in ids.items() if WORD_TOKEN.fullmatch(token))
    if not marks:
        raise VocabularyError(f"{file}: no token of it is a word; is it the model's tokenizer?")
    largest = max(ids.values())
    if vocab_size is not None and largest >= vocab_size:
        raise VocabularyError(
            f"{file}: token id {largest} does not fit a model of {vocab_size} ids; is it the model's tokenizer?"
        )
    return Vocabulary(
        tokenizer=tokenizer,
        added_ids=added_ids,
        mark_ids=np.array(marks, dtype=np.int64),
        digest=hashlib.sha256(data).hexdigest()[:DIGEST_CHARS],
    )


def _is_text(piece: str) -> bool:
    return bool(piece) and REPLACEMENT not in piece
