"""The simulated engine's program: `python -m adapters.simulated.server --port 8000`, or this file by its path.

Needs httptools and, for speed, uvloop; nothing of ours beyond this folder. Ends on SIGTERM or SIGINT.
"""

import asyncio
import gc
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from weakref import WeakSet

if not __package__:  # started by path: find this package last, shadow nothing
    sys.path[:] = [*sys.path[1:], str(Path(__file__).resolve().parents[2])]

import uvloop

from adapters.simulated import options as flags
from adapters.simulated import voices
from adapters.simulated.connection import Connection
from adapters.simulated.due import DueQueue
from adapters.simulated.engine import Engine
from adapters.simulated.routes import NO_VOICES, Routes
from adapters.simulated.script import NS_PER_S, Script, load
from adapters.simulated.send_log import SendLog

FLUSH_EVERY_S = 0.1
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
        uvloop.run(serve(options, load(options), voices.load(options)))
    except (OSError, ValueError) as error:
        raise SystemExit(f"simulated engine: {error}") from error


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that accepts connections."""

    port: int
    engine: Engine


@asynccontextmanager
async def listening(
    options: flags.Options, script: Script, spoken: Mapping[str, voices.Voice] = NO_VOICES
) -> AsyncIterator[Listening]:
    """Serve on the running loop while the block runs, and leave a whole send log behind.

    Raises:
        OSError: the port is taken, or the log cannot be written.
    """
    loop = asyncio.get_running_loop()
    engine = Engine(options, DueQueue(loop), SendLog(options.log))
    healthy_ns = time.monotonic_ns() + round(options.unhealthy_s * NS_PER_S)
    routes = Routes(engine, script, healthy_ns=healthy_ns, voices=spoken)
    connections: WeakSet[Connection] = WeakSet()

    def connect() -> Connection:
        connection = Connection(routes.handle)
        connections.add(connection)
        return connection

    try:
        server = await loop.create_server(connect, options.host, options.port, backlog=BACKLOG)
        try:
            yield Listening(server.sockets[0].getsockname()[1], engine)
        finally:
            server.close()
    finally:
        engine.stop()
        for connection in list(connections):
            connection.close()


async def serve(options: flags.Options, script: Script, spoken: Mapping[str, voices.Voice]) -> None:
    """Listen and answer until SIGTERM or SIGINT."""
    await asyncio.sleep(options.start_delay_s)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with listening(options, script, spoken) as server:
        settings = json.dumps(asdict(options))
        print(f"simulated engine: listening on {options.host}:{server.port} with {settings}", flush=True)  # noqa: T201 - its log
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER)  # a full collection in the middle of a stream would be measured as the engine's
        await _until(stopped, server.engine)


async def _until(stopped: asyncio.Event, engine: Engine) -> None:
    while not stopped.is_set():
        try:
            await asyncio.wait_for(stopped.wait(), FLUSH_EVERY_S)
        except TimeoutError:
            engine.send_log.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
