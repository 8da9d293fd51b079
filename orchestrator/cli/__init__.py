"""The command line: the composition root, one file a command. stdout is the artefact, stderr the progress."""

from orchestrator.cli.app import main

__all__ = ["main"]
