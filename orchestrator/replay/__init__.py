"""Traffic against a server: prepared requests in, one record a request out. The only HTTP on the measured path."""

from orchestrator.replay.files import read_records, write_records
from orchestrator.replay.prepared import PreparedRequest, prepare
from orchestrator.replay.replay import replay_closed, replay_open
from orchestrator.replay.server import (
    count_tokens,
    reset_cache,
    served_models,
    server_kind,
)
from orchestrator.replay.session import Timing

__all__ = [
    "PreparedRequest",
    "Timing",
    "count_tokens",
    "prepare",
    "read_records",
    "replay_closed",
    "replay_open",
    "reset_cache",
    "served_models",
    "server_kind",
    "write_records",
]
