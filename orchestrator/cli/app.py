"""Assembles the commands and turns errors into one message and one exit code."""

import os
import sys
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from orchestrator.cli.output import complain

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "RAY_AUTH_MODE": "token",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # it would look through every installed package, at each start
}
BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
COMMANDS = {
    "run": "Run a study: search an engine's settings, measure each at its loads, record everything.",
    "plan": "Print what a study would do: trials, commands, placement, traffic, time. Starts nothing.",
    "replay": "Measure an OpenAI-compatible server that is already there.",
    "calibrate": "Find out what the client itself can do on this machine: its own error, its highest honest rate.",
    "export": "Write a measurement in the form of another benchmark tool.",
    "import": "Read another benchmark tool's result, and say what of it could not be taken over.",
    "profile": "Characterise a trace: lengths, arrivals, periods, shared prefixes, clients, what to look at first.",
    "synth": "Turn a profile into a workload for a study; with --trace, make its traffic.",
    "verify": "Compare a trace with a twin made from its profile, by figures and on an engine.",
    "report": "Write a study's report; one that has not ended is marked as partial.",
    "sync": "Tell MLflow what it was not told of a study while it was away.",
    "init": "Write a first study from what a running server says of itself.",
    "engines": "List engines, or check one.",
    "models": "Fetch weights and make their variants of equal precision.",
    "doctor": "Tell what this machine has and what each engine lacks.",
}
MODULES = {"import": "orchestrator.cli.import_results"}  # `import` is a word of Python's own


class LazyGroup(TyperGroup):
    """Imports a command's module when the command is called: some take seconds."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - Typer's own Click is private
        """Return the named command in full."""
        name, _, rest = super().resolve_command(ctx, args)
        module = import_module(MODULES.get(str(name), f"orchestrator.cli.{name}"))
        return name, typer.main.get_command(module.app), rest


app = typer.Typer(
    name="seatrial",
    cls=LazyGroup,
    help="Find out, on real traffic, which LLM serving engine to run, with which settings, up to which load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _named_only() -> None:
    """Stand for a command until it is called."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_named_only)


def _explained() -> tuple[type[Exception], ...]:
    """Return the errors whose message is all that a person needs."""
    from adapters.registry import DuplicateEngineError, UnknownEngineError  # noqa: PLC0415 - see main
    from orchestrator.domain.errors import SeatrialError  # noqa: PLC0415
    from search_spaces import SpaceError  # noqa: PLC0415
    from workloads.errors import WorkloadError  # noqa: PLC0415

    return (SeatrialError, WorkloadError, SpaceError, UnknownEngineError, DuplicateEngineError)


def main() -> None:
    """Run the command line; exit 2 on bad input, 3 on deployment, 4 on a refused measurement, 5 on tracking."""
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    try:
        app()
    except SystemExit:  # how every command ends: nothing is looked up for it
        raise
    except KeyboardInterrupt:
        complain("stopped; what was measured is kept")
        sys.exit(INTERRUPTED)
    except _explained() as error:
        complain(str(error))
        sys.exit(getattr(error, "exit_code", BAD_INPUT))
