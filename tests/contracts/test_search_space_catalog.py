"""What every engine's catalogue file promises about its adapter."""

import pytest

from adapters import registry
from search_spaces import SearchSpace, SpaceError, load_space
from search_spaces.catalog import engines


@pytest.fixture(params=engines())
def space(request: pytest.FixtureRequest) -> SearchSpace:
    return load_space(request.param)


def test_every_built_in_engine_has_a_space() -> None:
    assert set(engines()) == set(registry.BUILT_IN)


def test_an_unknown_engine_is_named_with_the_nearest() -> None:
    with pytest.raises(SpaceError, match="did you mean 'llamacpp'"):
        load_space("lamacpp")


def test_every_parameter_is_a_field_with_the_same_default(space: SearchSpace) -> None:
    fields = registry.get(space.engine).config_type.model_fields
    assert {one.name: one.default for one in space.parameters} == {
        one.name: fields[one.name].default for one in space.parameters
    }


def test_every_default_lies_in_its_space_and_breaks_nothing(space: SearchSpace) -> None:
    assert [one.name for one in space.parameters if one.default is not None and not one.contains(one.default)] == []
    assert space.violations(space.defaults()) == []


def test_every_value_is_one_that_the_configuration_takes(space: SearchSpace) -> None:
    config_type = registry.get(space.engine).config_type
    for parameter in space.parameters:
        for value in parameter.values or parameter.bounds:
            assert getattr(config_type.model_validate({parameter.name: value}), parameter.name) == value


def test_every_parameter_says_what_it_changes(space: SearchSpace) -> None:
    assert [one.name for one in space.parameters if not one.why] == []
