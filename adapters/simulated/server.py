"""The simulated engine's program: `python -m adapters.simulated.server --port 8000`, or this file by its path.

Needs httptools and, for speed, uvloop; nothing of ours beyond this folder. Ends on SIGTERM or SIGINT.
"""

import asyncio
import gc
import json
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

if not __package__:  # started by path: find this package last, shadow nothing
    sys.path[:] = [*sys.path[1:], str(Path(__file__).resolve().parents[2])]

import uvloop

from adapters.simulated import options as flags
from adapters.simulated.connection import Connection
from adapters.simulated.due import DueQueue
from adapters.simulated.engine import Engine
from adapters.simulated.routes import Routes
from adapters.simulated.script import NS_PER_S, Script, load
from adapters.simulated.send_log import SendLog

FLUSH_EVERY_S = 0.5
BACKLOG = 1024
COLLECT_AFTER = 50_000


def main(arguments: list[str]) -> None:
    """Serve until told to stop.

    Raises:
        SystemExit: bad flags (2), bad script or taken port (1), or the crash that was asked for (1).
    """
    options = flags.parse(arguments)
    if options.crash_on_start is not None:
        raise SystemExit(options.crash_on_start)
    try:
        script = load(options)
        uvloop.run(serve(options, script))
    except (OSError, ValueError) as error:
        raise SystemExit(f"simulated engine: {error}") from error


async def serve(options: flags.Options, script: Script) -> None:
    """Listen, answer, and leave a whole send log behind."""
    started_ns = time.monotonic_ns()
    await asyncio.sleep(options.start_delay_s)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    due = DueQueue(loop)
    engine = Engine(options, due, SendLog(options.log))
    healthy_ns = started_ns + round((options.start_delay_s + options.unhealthy_s) * NS_PER_S)
    routes = Routes(engine, script, healthy_ns=healthy_ns)
    server = await loop.create_server(lambda: Connection(routes.handle), options.host, options.port, backlog=BACKLOG)
    port = server.sockets[0].getsockname()[1]
    print(f"simulated engine: listening on {options.host}:{port} with {json.dumps(asdict(options))}", flush=True)  # noqa: T201 - its log
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)  # a full collection in the middle of a stream would be measured as the engine's
    await _until(stopped, engine)
    server.close()
    due.close()
    engine.stop()


async def _until(stopped: asyncio.Event, engine: Engine) -> None:
    while not stopped.is_set():
        try:
            await asyncio.wait_for(stopped.wait(), FLUSH_EVERY_S)
        except TimeoutError:
            engine.send_log.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
