"""One replay shared by several client processes: slices of one schedule, one start, one log.

The calling process coordinates and sends nothing to the server; each worker is a process of its own.
"""

from orchestrator.replay.workers.channel import Channel, Launch, launch_process
from orchestrator.replay.workers.shared import Crew, replay_shared

__all__ = ["Channel", "Crew", "Launch", "launch_process", "replay_shared"]
