"""Published traffic: profiles by name, as package data, each with the sources of its figures."""

import difflib
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workloads.digest import digest
from workloads.errors import WorkloadError

__all__ = ["PublishedProfile", "UnknownProfileError", "load_profile", "profile_names"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class UnknownProfileError(WorkloadError):
    """No published profile has that name; lists those that exist."""


class ArrivalFamily(_Frozen):
    """A renewal process; `cv` is the gaps' coefficient of variation and matters for gamma only."""

    family: Literal["poisson", "gamma"] = "poisson"
    cv: float = Field(default=1.0, gt=0)


class LognormalLengths(_Frozen):
    """Token counts: lognormal with this median and mean, clipped to [min, max]."""

    p50: float = Field(gt=0)
    mean: float = Field(gt=0)
    min: int = Field(ge=1)
    max: int = Field(ge=1)

    @model_validator(mode="after")
    def _is_lognormal(self) -> "LognormalLengths":
        if not self.min <= self.p50 <= self.mean <= self.max:
            raise ValueError(f"need min <= p50 <= mean <= max, seen {self.min}, {self.p50}, {self.mean}, {self.max}")
        return self


class SharedPrefix(_Frozen):
    """A share of requests begins with one of a few prompts of equal length, each equally likely."""

    tokens: int = Field(ge=1)
    num_prefixes: int = Field(ge=1)
    share_ratio: float = Field(ge=0, le=1)


class PublishedProfile(_Frozen):
    """Traffic from published figures; `assumptions` are what those figures leave open."""

    name: str
    description: str
    sources: tuple[str, ...] = Field(min_length=1)
    assumptions: tuple[str, ...]
    arrivals: ArrivalFamily
    input_tokens: LognormalLengths
    output_tokens: LognormalLengths
    shared_prefix: SharedPrefix | None = None

    @property
    def digest(self) -> str:
        """Digest the figures; wording does not count."""
        return digest(self.model_dump(mode="json", exclude={"description", "sources", "assumptions"}))


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
    return PublishedProfile.model_validate(yaml.safe_load(text))
