"""What a load asks of the client that offers it. Measures nothing."""

from orchestrator.domain.calibration import ClientNeed
from orchestrator.domain.load import OfferedLoad, OpenLoad
from workloads.schedule import Schedule


def need_of(load: OfferedLoad, schedule: Schedule) -> ClientNeed | None:
    """Return requests/s and chunks/s of a load, a chunk for each scheduled output token.

    None in a closed loop: its rate follows the server, so that nothing is known of it beforehand.
    """
    if not isinstance(load, OpenLoad):
        return None
    return ClientNeed(load.rate_rps, load.rate_rps * float(schedule.output_tokens.mean()))
