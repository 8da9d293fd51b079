"""Traces written by hand, one a format, and a small tokenizer trained on the spot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805901,374,44\r\n"
    "2023-11-16 18:15:50.9951690,396,109\r\n"
    "2023-11-16 18:15:51.2224670,879,55"
)
BURSTGPT = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,472,18,490,Conversation log\n"
    "45,ChatGPT,0,0,0,Conversation log\n"
    "118,GPT-4,417,276,693,API log\n"
)
BURSTGPT_3 = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110,abc,1.5,ChatGPT,472,18,490,Conversation log\n"
    "19440150,,2.0,GPT-4,417,276,693,API log\n"
)
MOONCAKE = (
    '{"timestamp": 0, "input_length": 600, "output_length": 50, "hash_ids": [0, 1]}\n'
    '{"timestamp": 3000, "input_length": 1024, "output_length": 5, "hash_ids": [0, 2]}\n'
    '{"timestamp": 6000, "input_length": 600, "output_length": 7, "hash_ids": [0, 1]}\n'
)


@pytest.fixture
def rows() -> dict[str, str]:
    return {"azure2023": AZURE, "burstgpt": BURSTGPT, "burstgpt_3": BURSTGPT_3, "mooncake": MOONCAKE}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        path = tmp_path / "trace.txt"
        path.write_bytes(text.encode())
        return path

    return put


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = [f"{first}{middle}{last}" for first in "bcdfg" for middle in "aeiou" for last in ("ction", "ment", "ness")]
    tokenizer.train_from_iterator([" ".join(words)] * 3, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path
