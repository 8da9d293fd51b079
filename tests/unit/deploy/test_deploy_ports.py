import socket

from orchestrator.deploy.lease import own_process
from orchestrator.deploy.ports import free_ports, is_bindable, is_listening, listens_on


def test_every_name_gets_a_port_of_its_own() -> None:
    ports = free_ports(("http", "rpc", "metrics"))
    assert list(ports) == ["http", "rpc", "metrics"]
    assert len(set(ports.values())) == 3
    assert all(is_bindable(port) for port in ports.values())


def test_a_listener_is_seen_and_its_process_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_listening(port)
        assert not is_bindable(port)
        assert listens_on([own_process()], port) is True
    assert not is_listening(port)
    assert listens_on([own_process()], port) is False
