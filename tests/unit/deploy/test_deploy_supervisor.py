import os
import signal
import subprocess
import sys

from orchestrator.deploy.deployment import describe_status
from orchestrator.deploy.lease import own_process
from orchestrator.deploy.supervisor import Process, descendants, identify, is_running, send_signal


def test_a_process_is_its_pid_and_its_start() -> None:
    me = own_process()
    assert me.pid == os.getpid()
    assert is_running(me)
    assert not is_running(Process(me.pid, me.start_ticks + 1))


def test_a_signal_reaches_no_process_that_took_over_the_pid() -> None:
    me = own_process()
    # Were the start ignored, this would end the test run.
    send_signal([Process(me.pid, me.start_ticks - 1)], signal.SIGKILL)
    assert is_running(me)


def test_a_zombie_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identify(child.pid) is None
    child.wait()


def test_children_are_found_below_their_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in [one.pid for one in descendants(os.getpid())]
        assert descendants(child.pid) == []


def test_an_exit_is_described_in_words() -> None:
    assert describe_status(2) == "with exit status 2"
    assert describe_status(-9) == "by SIGKILL"
    assert describe_status(None) == "its supervisor is gone too"
