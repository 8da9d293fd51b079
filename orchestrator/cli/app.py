"""Assembles the commands and turns errors into one message and one exit code."""

import os
import sys

import typer

from orchestrator.cli import doctor, engines, init, models, plan, profile, replay, report, run
from orchestrator.cli.output import complain
from orchestrator.domain.errors import InputError, SeatrialError
from search_spaces import SpaceError
from workloads.errors import WorkloadError

OFFLINE = {"HF_HUB_OFFLINE": "1", "RAY_USAGE_STATS_ENABLED": "0", "VLLM_NO_USAGE_STATS": "1", "RAY_AUTH_MODE": "token"}
INTERRUPTED = 130

app = typer.Typer(
    name="seatrial",
    help="Find out, on real traffic, which LLM serving engine to run, with which settings, up to which load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("replay")(replay.replay)
app.command("profile")(profile.profile)
app.command("report")(report.report)
app.command("init")(init.init)
app.command("doctor")(doctor.doctor)
app.add_typer(engines.app, name="engines")
app.add_typer(models.app, name="models")


def main() -> None:
    """Run the command line; exit 2 on bad input, 3 on deployment, 4 on a refused measurement, 5 on tracking."""
    for key, value in OFFLINE.items():
        os.environ.setdefault(key, value)
    try:
        app()
    except SeatrialError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except (WorkloadError, SpaceError) as error:
        complain(str(error))
        sys.exit(InputError.exit_code)
    except KeyboardInterrupt:
        complain("stopped; what was measured is kept")
        sys.exit(INTERRUPTED)
