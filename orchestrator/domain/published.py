"""The base of what is published: frozen, and no key that is not named."""

from pydantic import BaseModel, ConfigDict


class Published(BaseModel):
    """A value whose JSON form is a contract."""

    model_config = ConfigDict(frozen=True, extra="forbid")
