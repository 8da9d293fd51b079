"""The spans of one load: how long it is offered, and how long its last answers may take."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer


class WindowSpec(BaseModel):
    """How long each load is offered: warm-up (not measured), measured window, longest drain; seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    warmup_s: float = Field(default=2.0, ge=0)
    measure_s: float = Field(default=30.0, gt=0)
    drain_s: float = Field(default=30.0, gt=0)
    request_timeout_s: float = Field(default=60.0, gt=0)
    stop_when_saturated: bool = Field(
        default=True, description="end an open loop's load once it has outgrown the server, with what was measured kept"
    )

    @model_serializer(mode="wrap")
    def _without_default_stop(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the default out, so that studies that do not name it keep the digest they had before there was one."""
        values: dict[str, Any] = write(self)
        return {key: value for key, value in values.items() if key != "stop_when_saturated" or not value}
