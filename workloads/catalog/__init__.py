"""Published traffic: profiles by name, as package data, each with the sources of its figures."""

import difflib
from importlib import resources

import yaml
from pydantic import Field

from workloads.errors import WorkloadError
from workloads.model import Frozen, TrafficModel
from workloads.synthesis.profile_file import Loader

__all__ = ["PublishedProfile", "UnknownProfileError", "load_profile", "profile_names"]


class UnknownProfileError(WorkloadError):
    """No published profile has that name; lists those that exist."""


class PublishedProfile(Frozen):
    """Traffic from published figures; `assumptions` are what those figures leave open."""

    name: str
    description: str
    sources: tuple[str, ...] = Field(min_length=1)
    assumptions: tuple[str, ...]
    traffic: TrafficModel

    @property
    def digest(self) -> str:
        """Digest the model; wording does not count."""
        return self.traffic.digest


def profile_names() -> tuple[str, ...]:
    """Name every published profile."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml")))


def load_profile(name: str) -> PublishedProfile:
    """Load a published profile.

    Raises:
        UnknownProfileError: lists the known names and the nearest.
    """
    names = profile_names()
    if name not in names:
        nearest = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        raise UnknownProfileError(f"no published workload is called {name!r}, known: {', '.join(names)}{hint}")
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return PublishedProfile.model_validate(yaml.load(text, Loader=Loader))  # noqa: S506 - a safe loader, in C if there
