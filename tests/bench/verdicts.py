"""Whether the client knows when it lies: twelve sabotaged set-ups and fifty healthy ones, each for real.

A healthy run is repeated where it was not sound: other work on the machine makes a client late, and that it says so is
right. What is counted is whether the set-up was sound in one of three tries.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.domain.fidelity import Fidelity, Verdict
from tests.ruler.healthy import LOADS, SERVERS, run, running
from tests.ruler.programs import simulated, undisturbed
from tests.ruler.sabotages import SABOTAGES

ATTEMPTS = 3
MEASURE_S = 1.5


def ruler_verdicts() -> dict[str, int]:
    """Return how many sabotages of how many were caught, healthy set-ups sound, and tries of those that were not."""
    caught = [name for name, fidelity in _sabotaged() if _is_seen(name, fidelity)]
    tries = dict(_healthy())
    return {
        "ruler_sabotage_caught": len(caught),
        "ruler_sabotage_total": len(SABOTAGES),
        "ruler_healthy_sound": sum(one[-1].verdict is Verdict.SOUND for one in tries.values()),
        "ruler_healthy_total": len(tries),
        "ruler_healthy_repeats": sum(len(one) - 1 for one in tries.values()),
    }


def _sabotaged() -> Iterator[tuple[str, Fidelity]]:
    with simulated("--ttft-s=0.02", "--itl-s=0.005") as port:
        for name, sabotage in SABOTAGES.items():
            with _folder() as folder:
                fidelity = sabotage.run(port, folder)
            _tell(name, fidelity)
            yield name, fidelity


def _is_seen(name: str, fidelity: Fidelity) -> bool:
    """Say whether a sabotage was found out, and for what it is."""
    return fidelity.verdict is not Verdict.SOUND and any(SABOTAGES[name].says in one for one in fidelity.reasons)


def _healthy() -> Iterator[tuple[tuple[str, str], list[Fidelity]]]:
    for server in SERVERS:
        with undisturbed(), _folder() as folder, running(server, folder) as port:
            for number, load in enumerate(LOADS):
                tries: list[Fidelity] = []
                while len(tries) < ATTEMPTS and (not tries or tries[-1].verdict is not Verdict.SOUND):
                    place = folder / f"{load}-{len(tries)}"
                    is_sampled = number % 2 == 0
                    tries.append(run(server, load, port=port, folder=place, measure_s=MEASURE_S, is_sampled=is_sampled))
                    _tell(f"{server}, {load}", tries[-1])
                yield (server, load), tries


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _tell(name: str, fidelity: Fidelity) -> None:
    sys.stderr.write(f"{name}: {'; '.join((fidelity.verdict.value, *fidelity.reasons))}\n")


if __name__ == "__main__":
    sys.stdout.write(f"{ruler_verdicts()}\n")
