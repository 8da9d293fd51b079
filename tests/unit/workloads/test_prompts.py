from pathlib import Path

import numpy as np
import pytest

from workloads.blocks import make_blocks, offsets_of
from workloads.corpus import CorpusError
from workloads.prompts import PromptError, PromptMaker, prompt_maker
from workloads.schedule import Schedule, build_closed_schedule
from workloads.vocabulary import VocabularyError
from workloads.workload import LengthScale, Workload

SMALL = LengthScale(input_factor=0.125)


@pytest.fixture(scope="module")
def maker(tokenizer_path: Path) -> PromptMaker:
    return prompt_maker(Workload(), tokenizer=tokenizer_path)


def blocky(ids: list[list[int]], *, tokens: int, block_tokens: int) -> Schedule:
    counts = np.array([len(one) for one in ids], dtype=np.int64)
    blocks = make_blocks(offsets_of(counts), np.array([one for row in ids for one in row], dtype=np.int64))
    lengths = np.full(len(ids), tokens, dtype=np.int32)
    return Schedule(None, lengths, lengths, blocks, block_tokens, None, {})


def test_lengths_are_exact_and_prompts_are_text(maker: PromptMaker) -> None:
    schedule = build_closed_schedule(Workload(lengths=SMALL), num_requests=50)
    prompts = [maker.token_ids(schedule, index, salt="a") for index in range(50)]
    assert [len(prompt) for prompt in prompts] == schedule.input_tokens.tolist()
    assert all(maker.decodes_to_text(prompt) for prompt in prompts)
    assert maker.is_exact


def test_equal_blocks_give_equal_tokens_at_the_same_place_and_then_part(maker: PromptMaker) -> None:
    schedule = blocky([[7, 8], [7, 9], [5, 6]], tokens=64, block_tokens=32)
    first, second, third = (maker.token_ids(schedule, index, salt="a") for index in range(3))
    assert first[:32] == second[:32]
    assert first[32:] != second[32:]
    assert first[1:32] != third[1:32]


def test_prompts_without_blocks_are_cut_apart(maker: PromptMaker) -> None:
    schedule = blocky([[]] * 200, tokens=40, block_tokens=32)
    prompts = {tuple(maker.token_ids(schedule, index, salt="a")[1:]) for index in range(200)}
    assert len(prompts) == 200


def test_salts_differ_from_the_first_token_on(maker: PromptMaker) -> None:
    schedule = blocky([[7, 8], []], tokens=64, block_tokens=32)
    for index in range(2):
        one, two = (maker.token_ids(schedule, index, salt=salt) for salt in ("load-1", "load-2"))
        assert one[0] != two[0]
        assert one[1:] != two[1:]
        assert one == maker.token_ids(schedule, index, salt="load-1")


def test_random_tokens_come_only_on_request_and_hold_no_special_ones(tokenizer_path: Path) -> None:
    maker = prompt_maker(Workload(content="random"), tokenizer=tokenizer_path)
    assert maker.facts["content"] == "random"
    schedule = blocky([[]] * 20, tokens=500, block_tokens=32)
    tokens = {token for index in range(20) for token in maker.token_ids(schedule, index, salt="a")}
    assert 0 not in tokens
    assert len(tokens) > 100


def test_facts_state_content_and_corpus(maker: PromptMaker) -> None:
    assert maker.facts["content"] == "english"
    assert maker.facts["corpus"] == "pydoc_data.topics"


def test_a_corpus_of_ones_own_is_cut_at_whole_characters(tmp_path: Path, tokenizer_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Grüße aus Zürich, schöne Straße, größer wäre besser. " * 50, encoding="utf-8")
    maker = prompt_maker(Workload(content="corpus", corpus=corpus), tokenizer=tokenizer_path)
    assert maker.facts["corpus"] == "corpus.txt"
    schedule = blocky([[]], tokens=41, block_tokens=32)
    text = maker.text(schedule, 0, salt="a")
    assert "\ufffd" not in text
    assert not maker.decodes_to_text(maker.tokens.vocabulary.encode("ü")[0].tolist()[:1] if maker.tokens else [])


def test_without_a_tokenizer_text_is_sized_by_characters() -> None:
    maker = prompt_maker(Workload(), tokenizer=None, tokens_per_character=0.2)
    schedule = blocky([[7, 8], [7, 9]], tokens=64, block_tokens=32)
    one, two = (maker.text(schedule, index, salt="a") for index in range(2))
    assert len(one) == 64 * 5
    assert one[:160] == two[:160]
    assert one != two
    assert one.split()[0] != maker.text(schedule, 0, salt="b").split()[0]
    assert not maker.is_exact
    with pytest.raises(PromptError, match=r"tokenizer\.json"):
        maker.token_ids(schedule, 0, salt="a")


def test_what_is_missing_is_said(tmp_path: Path, tokenizer_path: Path) -> None:
    with pytest.raises(VocabularyError, match="no such file"):
        prompt_maker(Workload(), tokenizer=tmp_path / "absent.json")
    with pytest.raises(VocabularyError, match="does not fit a model of 10 ids"):
        prompt_maker(Workload(), tokenizer=tokenizer_path, vocab_size=10)
    with pytest.raises(PromptError, match="needs a file"):
        prompt_maker(Workload(content="corpus"), tokenizer=None)
    with pytest.raises(PromptError, match="content: random"):
        prompt_maker(Workload(content="random"), tokenizer=None)
    with pytest.raises(CorpusError, match="cannot be read"):
        prompt_maker(Workload(content="corpus", corpus=tmp_path / "absent.txt"), tokenizer=None)
    with pytest.raises(ValueError, match="must be positive"):
        prompt_maker(Workload(), tokenizer=None, tokens_per_character=0)
