"""Whether our own environment has what an engine needs beside its distribution, extras included."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement


def are_met(requirements: Iterable[str]) -> bool:
    """Say whether every requirement is installed here, with the packages that its extras add."""
    return all(_is_met(Requirement(one)) for one in requirements)


def _is_met(wanted: Requirement) -> bool:
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return False
    return wanted.specifier.contains(found, prereleases=True) and all(map(_is_met, _added_by_extras(wanted)))


def _added_by_extras(wanted: Requirement) -> list[Requirement]:
    stated = [Requirement(line) for line in (requires(wanted.name) or ())] if wanted.extras else []
    return [
        one
        for one in stated
        if one.marker is not None
        and not one.marker.evaluate({"extra": ""})
        and any(one.marker.evaluate({"extra": extra}) for extra in wanted.extras)
    ]
