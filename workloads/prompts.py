"""Prompts: token-exact where the model's tokenizer is at hand, sized by characters where it is not.

A prompt is cut at token level and sent as token ids, so its length is exact by construction. Nothing is sent here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloads.corpus import Corpus, english_corpus, file_corpus
from workloads.cutting import cut_rank, keyed_number, pieces_of
from workloads.errors import WorkloadError
from workloads.schedule import Schedule
from workloads.streams import uniforms
from workloads.text_cutting import TextCutter, text_cutter
from workloads.vocabulary import REPLACEMENT, Vocabulary, load_vocabulary
from workloads.workload import Workload

ENGLISH_TOKENS_PER_CHARACTER = 0.25
RANDOM_POOL_TOKENS = 1 << 20


class PromptError(WorkloadError):
    """A prompt cannot be made: what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class TokenPool:
    """Token ids to cut from, and the places at which a cut may begin; both int64."""

    vocabulary: Vocabulary
    ids: NDArray[np.int64] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PromptMaker:
    """Makes the prompts of a schedule: the same ones for the same salt, in every process.

    Within one salt, equal block ids give equal tokens at the same place. Different salts share no prefix: all prompts
    of a salt begin with that salt's own word (two salts pick the same one by chance, once in some thousands), and
    what follows is cut elsewhere. `facts` say what the content is made of.
    """

    seed: int
    tokens: TokenPool | None
    text_cutter: TextCutter | None
    facts: Mapping[str, object]

    @property
    def is_exact(self) -> bool:
        """Say whether prompts have exactly the tokens asked for, when sent as token ids."""
        return self.tokens is not None

    def token_ids(self, schedule: Schedule, index: int, *, salt: str) -> list[int]:
        """Return the token ids of one request's prompt, exactly as many as the schedule says.

        Raises:
            PromptError: no tokenizer was given.
        """
        pool = self._known_tokens()
        ids = np.empty(int(schedule.input_tokens[index]), dtype=np.int64)
        filled = 0
        for piece in pieces_of(schedule, index):
            start = pool.starts[cut_rank(piece, size=len(pool.starts), seed=self.seed, salt=salt)]
            ids[filled : filled + piece.tokens] = _take(pool.ids, int(start), piece.tokens)
            filled += piece.tokens
        marks = pool.vocabulary.mark_ids
        ids[0] = marks[keyed_number(self.seed, salt) % len(marks)]
        return ids.tolist()

    def text(self, schedule: Schedule, index: int, *, salt: str) -> str:
        """Return one request's prompt as text, for chat and for servers whose tokenizer is not at hand.

        Its token count is approximate: a server joins tokens anew across cuts and adds its chat template, and
        without a tokenizer here the size rests on `tokens_per_character` alone.
        """
        if self.text_cutter is not None:
            return self.text_cutter.cut(pieces_of(schedule, index), seed=self.seed, salt=salt)
        decoded = self._known_tokens().vocabulary.decode(self.token_ids(schedule, index, salt=salt))
        return decoded.replace(REPLACEMENT, "")

    def decodes_to_text(self, token_ids: list[int]) -> bool:
        """Say whether token ids decode to valid text: no character broken by a cut.

        Raises:
            PromptError: no tokenizer was given.
        """
        return REPLACEMENT not in self._known_tokens().vocabulary.decode(token_ids)

    def _known_tokens(self) -> TokenPool:
        if self.tokens is None:
            raise PromptError("token ids need the model's tokenizer.json; give one, or send text")
        return self.tokens


def prompt_maker(
    workload: Workload,
    *,
    tokenizer: Path | None,
    vocab_size: int | None = None,
    tokens_per_character: float = ENGLISH_TOKENS_PER_CHARACTER,
) -> PromptMaker:
    """Make the maker of a workload's prompts; reads tokenizer and corpus once.

    Args:
        workload: says the kind of content, and seeds the cuts.
        tokenizer: a tokenizer.json or a folder with one; None leaves `text` alone, of approximate size.
        vocab_size: number of ids that the model knows, to refuse a tokenizer of another model.
        tokens_per_character: sizes text where there is no tokenizer; calibrate it with a server's own counts.

    Raises:
        PromptError: the content needs what was not given.
        CorpusError, VocabularyError: a file cannot be used.
    """
    corpus = _corpus_of(workload)
    if tokenizer is None:
        return _text_maker(workload, corpus, tokens_per_character)
    vocabulary = load_vocabulary(tokenizer, vocab_size=vocab_size)
    pool = _random_pool(vocabulary, workload.seed) if corpus is None else _corpus_pool(vocabulary, corpus)
    facts = {**_corpus_facts(workload, corpus), "tokenizer_digest": vocabulary.digest, "pool_tokens": len(pool.ids)}
    return PromptMaker(workload.seed, pool, None, facts)


def _text_maker(workload: Workload, corpus: Corpus | None, tokens_per_character: float) -> PromptMaker:
    if corpus is None:
        raise PromptError("content: random needs the model's tokenizer.json; give one, or choose content: english")
    cutter = text_cutter(corpus.text, tokens_per_character)
    facts = {**_corpus_facts(workload, corpus), "tokens_per_character": tokens_per_character}
    return PromptMaker(workload.seed, None, cutter, facts)


def _corpus_of(workload: Workload) -> Corpus | None:
    match workload.content:
        case "english":
            return english_corpus()
        case "corpus":
            if workload.corpus is None:
                raise PromptError("content: corpus needs a file; set corpus: PATH in the workload")
            return file_corpus(workload.corpus)
        case "random":
            return None


def _corpus_facts(workload: Workload, corpus: Corpus | None) -> dict[str, object]:
    source = {"corpus": corpus.source, "corpus_digest": corpus.digest} if corpus is not None else {}
    return {"content": workload.content, **source}


def _corpus_pool(vocabulary: Vocabulary, corpus: Corpus) -> TokenPool:
    ids, starts = vocabulary.encode(corpus.text)
    if len(starts) == 0:
        raise PromptError(f"the tokenizer makes nothing of the corpus {corpus.source}; give another corpus")
    return TokenPool(vocabulary, ids, starts)


def _random_pool(vocabulary: Vocabulary, seed: int) -> TokenPool:
    plain_ids = vocabulary.plain_ids()
    ranks = (uniforms(seed, "random_tokens", RANDOM_POOL_TOKENS) * len(plain_ids)).astype(np.int64)
    return TokenPool(vocabulary, plain_ids[ranks], np.arange(RANDOM_POOL_TOKENS, dtype=np.int64))


def _take(ids: NDArray[np.int64], start: int, count: int) -> NDArray[np.int64]:
    """Cut a run, going on at the pool's beginning where it ends."""
    return np.take(ids, np.arange(start, start + count), mode="wrap")
