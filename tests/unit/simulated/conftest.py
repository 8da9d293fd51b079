"""A simulated server for each test that asks for one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.unit.simulated.plain_client import Client, Served, serving


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[Served, Client]]]:
    """Start a server with these flags and connect to it."""
    with ExitStack() as stack:

        def start(**flags: object) -> tuple[Served, Client]:
            served = stack.enter_context(serving(tmp_path / "sent.jsonl", **flags))
            return served, stack.enter_context(Client(served.port))

        yield start
