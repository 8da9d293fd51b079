"""What a candidate answers to a few fixed prompts when it may only take the likeliest token, and how that is written.

Between candidates of one model the answers should agree, up to where rounding decides.
"""

from pydantic import BaseModel, ConfigDict, FiniteFloat, TypeAdapter

GREEDY = "greedy"
GREEDY_ERROR = "greedy.error"
MAX_TOKENS = 8
TOP_TOKENS = 3
PROMPTS = (
    "The capital of France is",
    "Water boils at a temperature of",
    "The days of the week are Monday, Tuesday,",
    "The opposite of hot is",
    "One, two, three, four,",
    "The sun rises in the east and sets in the",
    "There are twelve months in a year: January, February,",
    "The quick brown fox jumps over",
    "Two plus two equals four, and three plus three equals",
    "Once upon a time, in a small village near the sea,",
)


class GreedyAnswer(BaseModel):
    """One answer of at most MAX_TOKENS tokens; fewer where the model ended it.

    `prompt` is the index in PROMPTS. `ids` are the answer's tokens under the model's own tokenizer, `tokens` their
    texts. `top` holds, for each position, natural log-probabilities of the likeliest tokens by id, rounded; it may go
    on to the token that ended the answer. None: the engine tells none. `prompt_tokens` is the engine's own count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: int
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    top: tuple[dict[int, FiniteFloat], ...] | None = None
    prompt_tokens: int | None = None


_ANSWERS = TypeAdapter(tuple[GreedyAnswer, ...])


def to_text(answers: tuple[GreedyAnswer, ...]) -> str:
    """Spell answers as one compact JSON text."""
    return _ANSWERS.dump_json(answers, exclude_none=True).decode()


def from_text(text: str) -> tuple[GreedyAnswer, ...]:
    """Read what `to_text` wrote.

    Raises:
        ValueError: it is something else.
    """
    return _ANSWERS.validate_json(text)
