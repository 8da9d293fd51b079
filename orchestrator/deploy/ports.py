"""Free ports on loopback, and who listens on them. Reserves nothing: a port may be lost between probe and use."""

import contextlib
import socket
from collections.abc import Iterable, Sequence

import psutil

from orchestrator.deploy.supervisor import Process

LOOPBACK = "127.0.0.1"
CONNECT_TIMEOUT_S = 1.0


def free_ports(names: Sequence[str]) -> dict[str, int]:
    """Pick one free port for each name, all different."""
    with contextlib.ExitStack() as stack:
        ports = {}
        for name in names:
            probe = stack.enter_context(socket.socket())
            probe.bind((LOOPBACK, 0))
            ports[name] = probe.getsockname()[1]
    return ports


def is_bindable(port: int) -> bool:
    """Say whether a server could listen on the port now; connections in TIME_WAIT do not count against it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_listening(port: int, host: str = LOOPBACK) -> bool:
    """Say whether something accepts connections on the port."""
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def listens_on(processes: Iterable[Process], port: int) -> bool | None:
    """Say whether one of the processes listens on the port; None where the system does not tell."""
    is_told = True
    for one in processes:
        try:
            sockets = psutil.Process(one.pid).net_connections("tcp")
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            is_told = False
            continue
        if any(found.status == psutil.CONN_LISTEN and found.laddr.port == port for found in sockets):
            return True
    return False if is_told else None
