"""The base of every published form: frozen, strict about its keys."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that people and files hold: never changed, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
