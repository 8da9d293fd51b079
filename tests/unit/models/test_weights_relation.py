import pytest

from adapters.samples import sample_model
from orchestrator.domain.weights import weights_relation

A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((A, False), (A, False), "same"),
        ((A, False), (A, True), "derived"),
        ((A, True), (A, True), "derived"),
        ((A, False), (B, False), "different"),
        ((A, False), (B, True), "different"),
        ((A, False), (None, True), "unknown"),
        ((None, False), (None, False), "unknown"),
        ((None, True), (None, True), "unknown"),
    ],
)
def test_the_relation_follows_from_checkpoint_and_derivation_and_is_symmetric(
    first: tuple[str | None, bool], second: tuple[str | None, bool], expected: str
) -> None:
    one, other = (
        sample_model(checkpoint_digest=digest, is_derived=is_derived, weights_sha256=sha256)
        for (digest, is_derived), sha256 in ((first, "1" * 64), (second, "2" * 64))
    )
    assert weights_relation(one, other) == weights_relation(other, one) == expected


@pytest.mark.parametrize("digest", [A, None])
def test_equal_files_are_the_same_whatever_they_derive_from(digest: str | None) -> None:
    ref = sample_model("gguf", checkpoint_digest=digest, is_derived=True)
    assert weights_relation(ref, ref) == "same"
