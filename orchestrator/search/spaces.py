"""The space of one candidate: its engine's catalogue, or for a plug-in without one the flags that the study lists."""

from adapters import registry
from orchestrator.domain.study import EngineChoice
from search_spaces import Parameter, SearchSpace, SpaceError, load_space
from search_spaces.catalog import engines


def space_of(choice: EngineChoice) -> SearchSpace:
    """Return what a candidate searches.

    Raises:
        SpaceError: a flag that is not there or a value that it cannot have, with the nearest name.
    """
    space = load_space(choice.name) if choice.name in engines() else _listed(choice)
    return space.restricted(choice.search)


def _listed(choice: EngineChoice) -> SearchSpace:
    """Make a space from the values that a study lists for a plug-in's flags."""
    fields = registry.get(choice.name).config_type.model_fields
    unknown = [name for name in choice.search or {} if name not in fields]
    if unknown:
        raise SpaceError(f"{unknown[0]}: {choice.name} has no such flag; it has {', '.join(fields)}")
    parameters = tuple(
        Parameter(name=name, kind="choice", values=tuple(values), default=fields[name].get_default())
        for name, values in (choice.search or {}).items()
    )
    return SearchSpace(engine=choice.name, parameters=parameters)
