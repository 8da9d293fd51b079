"""Traffic against a server: prepared requests in, one record a request out. The only HTTP on the measured path."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from orchestrator.replay.prepared import PreparedRequest
from orchestrator.replay.replay import replay_closed, replay_open
from orchestrator.replay.server import (
    count_tokens,
    reset_cache,
    served_models,
    server_kind,
)
from orchestrator.replay.session import Timing

if TYPE_CHECKING:
    from orchestrator.replay.files import read_records, write_records

__all__ = [
    "PreparedRequest",
    "Timing",
    "count_tokens",
    "read_records",
    "replay_closed",
    "replay_open",
    "reset_cache",
    "served_models",
    "server_kind",
    "write_records",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - of any kind
    """Import what reads and writes Parquet when it is asked for: Arrow takes a third of a second."""
    if name in {"read_records", "write_records"}:
        return getattr(import_module("orchestrator.replay.files"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
