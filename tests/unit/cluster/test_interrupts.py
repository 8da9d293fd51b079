import os
import signal

import pytest

from orchestrator.cluster.interrupts import gentle_interrupt, no_interrupt


def test_the_first_interrupt_is_noted_and_the_second_ends() -> None:
    before = signal.getsignal(signal.SIGINT)
    noted: list[str] = []
    with gentle_interrupt(lambda: noted.append("stop")):
        os.kill(os.getpid(), signal.SIGINT)
        assert noted == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert noted == ["stop"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_cleanup_is_not_interrupted() -> None:
    before = signal.getsignal(signal.SIGINT)
    with no_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
