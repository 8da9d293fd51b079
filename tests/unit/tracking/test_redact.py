import pytest

from orchestrator.tracking.redact import REDACTED, looks_secret, redact, redact_text


@pytest.mark.parametrize("key", ["api_key", "HF_TOKEN", "apiKey", "AWS_SECRET_ACCESS_KEY", "db.password", "token"])
def test_keys_of_secrets(key: str) -> None:
    assert looks_secret(key)


@pytest.mark.parametrize("key", ["output_tokens", "eos_token", "tokenizer", "start.token_s", "cache_key", "n_keep"])
def test_keys_of_settings(key: str) -> None:
    assert not looks_secret(key)


def test_secrets_go_at_any_depth_and_settings_stay() -> None:
    value = {"config": [{"api_key": "sk-123"}], "max_tokens": 5, "hf_token": None, "name": "x"}
    assert redact(value) == {"config": [{"api_key": REDACTED}], "max_tokens": 5, "hf_token": None, "name": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "server --api-key sk-123 --port 1",
        "server --api-key=sk-123 --port 1",
        "HF_TOKEN=sk-123 server --port 1",
        "http://me:sk-123@tracker:5000 --port 1",
        "Authorization: Bearer sk-123 --port 1",
    ],
)
def test_secrets_in_text(text: str) -> None:
    clean = redact_text(text)
    assert "sk-123" not in clean
    assert clean.endswith("--port 1")


@pytest.mark.timeout(5)
def test_a_long_word_takes_no_time() -> None:
    assert redact_text("x" * 200_000) == "x" * 200_000


def test_text_without_secrets_stays() -> None:
    argv = "python -m server --max-tokens 5 --tokenizer path --key-value q8_0"
    assert redact_text(argv) == argv
