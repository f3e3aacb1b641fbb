"""A signal is heard at once by who waits."""

import os
import signal
import socket
import threading
import time

import pytest

from clusterwright.onhost.supervisor import wakeup_socket
from clusterwright.onhost.supervisor.peers import Peers


@pytest.fixture
def heard():
    """Signals that came; the handler is ours for the test."""
    came = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: came.append(number))
    wakeup_socket.drain()  # of what an earlier test was sent
    yield came
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_ends_the_wait_of_a_supervisor(heard):
    """Of an hour; and the next wait is not cut short by the same signal."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peers = Peers(listener, "token", (), 60.0, dict)
        killer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        killer.start()
        list(peers.turn(3600.0))
        killer.join()
        begun = time.monotonic()
        list(peers.turn(0.3))

    assert heard == [signal.SIGUSR1]
    assert time.monotonic() - begun >= 0.3
