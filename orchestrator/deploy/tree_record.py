"""Keeps on disk which processes belong to an engine that no supervisor of ours holds, so that none is left behind."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.deploy.lease import own_process
from orchestrator.deploy.leftovers import await_end, kill
from orchestrator.deploy.supervisor import Process, descendants, is_running, kernel_id


@dataclass(slots=True)
class TreeRecord:
    """A process and everything that was ever seen below it; `state` is read by `leftovers.sweep`."""

    root: Process
    state: Path
    known: list[Process] = field(default_factory=list)

    def refresh(self) -> list[Process]:
        """Look at the tree again, record what is new, and return all that was ever seen."""
        below = descendants(self.root.pid) if is_running(self.root) else []
        new = [one for one in (self.root, *below) if one not in self.known]
        if new:
            self.known += new
            self._write()
        return self.known

    def end(self, timeout_s: float) -> list[Process]:
        """Wait for the end of all that was seen, kill what stays, and return what runs even then."""
        left = kill(await_end(self.known, timeout_s))
        if not left:
            self.state.unlink(missing_ok=True)
        return left

    def _write(self) -> None:
        record = {
            "kernel": kernel_id(),
            "owner": list(own_process()),
            "supervisor": list(self.root),
            "processes": [list(one) for one in self.known],
        }
        self.state.write_text(json.dumps(record), encoding="utf-8")
