"""Prompts as text of about the right size, for servers whose tokenizer is not at hand; counts characters."""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workloads.cutting import Piece, cut_rank, keyed_number

WORD_START = re.compile(r"(?<!\S)\S")
MARK_WORD = re.compile(r"\b[A-Za-z]{4,}\b")


@dataclass(frozen=True, slots=True)
class TextCutter:
    """Cuts pieces from a text at word starts; `marks` are the words of which each salt has one."""

    text: str = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    marks: tuple[str, ...] = field(repr=False)
    tokens_per_character: float

    def cut(self, pieces: list[Piece], *, seed: int, salt: str) -> str:
        """Join the pieces of one prompt; equal blocks at the same place give equal characters within one salt."""
        parts = []
        num_tokens = num_characters = 0
        for piece in pieces:
            num_tokens += piece.tokens
            end = max(num_characters + 1, round(num_tokens / self.tokens_per_character))
            parts.append(self._run(piece, end - num_characters, seed=seed, salt=salt))
            num_characters = end
        mark = self.marks[keyed_number(seed, salt) % len(self.marks)] + " "
        joined = "".join(parts)
        return (mark + joined)[: len(joined)]

    def _run(self, piece: Piece, length: int, *, seed: int, salt: str) -> str:
        start = int(self.starts[cut_rank(piece, size=len(self.starts), seed=seed, salt=salt)])
        run = self.text[start : start + length]
        while len(run) < length:
            run += self.text[: length - len(run)]
        return run


def text_cutter(text: str, tokens_per_character: float) -> TextCutter:
    """Prepare a text for cutting.

    Raises:
        ValueError: the text has no word of four letters, or the ratio is not positive.
    """
    if not 0 < tokens_per_character < float("inf"):
        raise ValueError(f"tokens_per_character must be positive, seen {tokens_per_character}")
    starts = np.array([match.start() for match in WORD_START.finditer(text)], dtype=np.int64)
    marks = tuple(sorted(set(MARK_WORD.findall(text))))
    if not marks:
        raise ValueError("the corpus has no word of four letters; give a file with text")
    return TextCutter(text, starts, marks, tokens_per_character)
