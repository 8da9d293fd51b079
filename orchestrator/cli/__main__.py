"""Lets `python -m orchestrator.cli` stand for the `seatrial` command."""

from orchestrator.cli.app import main

if __name__ == "__main__":
    main()
