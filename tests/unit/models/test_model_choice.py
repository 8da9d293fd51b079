from typing import Any

import pytest

from orchestrator.domain.errors import InputError
from orchestrator.domain.study import ModelChoice, StudySpec
from orchestrator.studies.reading import parse_study


def study(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "s",
        "model": {"name": "mine", **model},
        "engines": [{"name": "llamacpp"}],
        "load": {"rates_rps": [1]},
        "slo": {"ttft_s": 1},
    }


@pytest.mark.parametrize("uri", ["s3://bucket/models/x", "s3://bucket/x.gguf", "https://host:8080/x", "file:///mnt/x"])
def test_a_model_may_come_from_an_address(uri: str) -> None:
    read = parse_study(study({"uri": uri}), "study.yaml")
    assert read.model == ModelChoice(name="mine", uri=uri)
    assert StudySpec.model_validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize(
    "uri", ["s3://me:hush@bucket/x", "s3://me:hu/sh@bucket/x", "https://me@host/x", "https://host/x?signature=hush"]
)
def test_credentials_in_an_address_are_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(InputError, match=r"study\.yaml: model\.uri: an address with a user, a password") as caught:
        parse_study(study({"uri": uri}), "study.yaml")
    assert "hush" not in str(caught.value)
    assert uri not in str(caught.value)


def test_a_path_and_an_address_are_not_both() -> None:
    with pytest.raises(InputError, match="give either path or uri, not both"):
        parse_study(study({"uri": "s3://bucket/x", "path": "/models/x"}), "study.yaml")


def test_a_study_without_an_address_is_spelt_as_before_there_were_any() -> None:
    assert ModelChoice(name="mine").model_dump(mode="json") == {"name": "mine", "variant": "bf16", "path": None}
    with_address = [
        parse_study(study({"uri": uri} if uri else {}), "s").digest for uri in (None, "s3://b/x", "s3://b/y")
    ]
    assert len(set(with_address)) == 3
