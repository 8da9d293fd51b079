from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.deploy.log import HIDDEN, MIN_SECRET_CHARS, TAIL_BYTES, read_tail, redact


@given(secret=st.text("abcdef0123", min_size=MIN_SECRET_CHARS), around=st.text("xyz ", max_size=20))
def test_no_secret_survives(secret: str, around: str) -> None:
    env = {"MY_API_KEY": secret}
    assert secret not in redact(around + secret + around, env)


def test_only_variables_named_like_secrets_are_hidden() -> None:
    env = {"HF_TOKEN": "hf_abcdefgh", "MODEL": "smollm2", "db_password": "hunter22", "USE_TOKEN": "1"}
    seen = redact("hf_abcdefgh smollm2 hunter22 1", env)
    assert seen == f"{HIDDEN} smollm2 {HIDDEN} 1"


def test_bearer_tokens_are_hidden_in_headers_and_mappings() -> None:
    seen = redact("Authorization: Bearer abc.def\n{'authorization': 'Bearer xyz'}", {})
    assert seen == f"Authorization: Bearer {HIDDEN}\n{{'authorization': 'Bearer {HIDDEN}'}}"


def test_the_longer_of_two_nested_secrets_is_hidden_whole() -> None:
    assert redact("secretlonger", {"A_KEY": "secret", "B_KEY": "secretlonger"}) == HIDDEN


def test_the_tail_has_the_last_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("\n".join(f"line {number}" for number in range(100)))
    assert read_tail(log, {}).splitlines() == [f"line {number}" for number in range(60, 100)]


def test_a_huge_log_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_bytes(b"x" * (3 * TAIL_BYTES) + b"\n\xff last")
    assert read_tail(log, {}, lines=1) == "� last"


def test_no_log_is_an_empty_tail(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "none.log", {}) == ""
