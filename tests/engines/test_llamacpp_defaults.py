"""Our defaults are those of the installed engine; none is ours by accident."""

import pytest
import xllamacpp

from adapters.llamacpp import serve
from adapters.llamacpp.config import LlamaCppConfig
from search_spaces import load_space

pytestmark = pytest.mark.engine


def test_every_default_of_the_configuration_is_the_engines() -> None:
    ours = LlamaCppConfig().engine_settings()
    theirs = serve.read(xllamacpp.CommonParams(), sorted(ours))
    assert theirs == pytest.approx(ours)


def test_every_default_of_the_search_space_is_the_engines() -> None:
    ours = load_space("llamacpp").defaults()
    assert serve.read(xllamacpp.CommonParams(), sorted(ours)) == pytest.approx(ours)


def test_every_value_of_the_search_space_is_one_that_the_engine_knows() -> None:
    params = xllamacpp.CommonParams()
    for parameter in load_space("llamacpp").parameters:
        for value in parameter.values:
            serve.apply(params, {parameter.name: value})
            assert serve.read(params, [parameter.name])[parameter.name] == pytest.approx(value)


def test_a_flag_that_the_engine_does_not_have_is_named() -> None:
    with pytest.raises(serve.StartError, match="unknown flag n_slots"):
        serve.apply(xllamacpp.CommonParams(), {"n_slots": 2})
