"""What we search is what the installed engine knows; its defaults are compared in test_engine_versions.py."""

import pytest
import xllamacpp

from adapters.llamacpp import serve
from search_spaces import load_space

pytestmark = pytest.mark.engine


def test_every_value_of_the_search_space_is_one_that_the_engine_knows() -> None:
    params = xllamacpp.CommonParams()
    for parameter in load_space("llamacpp").parameters:
        for value in parameter.values:
            serve.apply(params, {parameter.name: value})
            assert serve.read(params, [parameter.name])[parameter.name] == pytest.approx(value)


def test_a_flag_that_the_engine_does_not_have_is_named() -> None:
    with pytest.raises(serve.StartError, match="unknown flag n_slots"):
        serve.apply(xllamacpp.CommonParams(), {"n_slots": 2})
