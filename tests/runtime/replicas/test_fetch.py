"""A part is fetched from a real agent over loopback."""

import os
import socket
import threading

import pytest

from clusterwright.onhost.supervisor.replicas.replicas import Replicas as Agent
from clusterwright.onhost.supervisor.replicas.slots import SlotPart
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.replicas.fetch import Fetched

pytestmark = pytest.mark.train
TOKEN = "a" * 64
DATA = os.urandom(300_000)
KEY = (1, 7, 2, 0)


@pytest.fixture
def port():
    """Where an agent that holds one part serves."""
    agent = Agent(socket.create_server(("127.0.0.1", 0)), TOKEN, 1, lambda *_: None, lambda _: None)
    own = agent._holdings.local_slots[0]
    own.bytes(1, len(DATA))[: len(DATA)] = DATA
    own.write(1, SlotPart(7, 1, 2, 0, len(DATA), "ab" * 32))
    yield agent.port
    agent.close()


@pytest.fixture
def fetched(port):
    """The part, about to be read."""
    source = Fetched("127.0.0.1", port, TOKEN, KEY)
    yield source
    source.close()


def test_all_of_it_is_read_in_order(fetched):
    """Length and checksum are known first."""
    into = bytearray(len(DATA))
    fetched.read(0, memoryview(into)[:1000])
    fetched.read(1000, memoryview(into)[1000:])

    assert (fetched.size(), fetched.digest) == (len(DATA), "ab" * 32)
    assert bytes(into) == DATA


def test_what_is_not_needed_is_passed_over(fetched):
    """The end alone."""
    into = bytearray(10)
    fetched.read(len(DATA) - 10, memoryview(into))

    assert bytes(into) == DATA[-10:]


def test_more_than_there_is_ends_early(fetched):
    """An agent that dies while it sends looks the same."""
    fetched._connection.shutdown(socket.SHUT_WR)

    with pytest.raises(Damaged, match="ends early"):
        fetched.read(len(DATA) - 5, memoryview(bytearray(10)))


def test_a_part_that_is_not_there_is_missing(port):
    """It has gone since the choice was made."""
    with pytest.raises(Damaged, match="missing"):
        Fetched("127.0.0.1", port, TOKEN, (1, 8, 2, 0))


def test_who_does_not_know_the_token_is_not_believed(port):
    """A stranger that has taken the port of an agent."""
    with pytest.raises(ConnectionError, match="not an agent of this run"):
        Fetched("127.0.0.1", port, "b" * 64, KEY)


def test_one_that_closes_is_an_error_of_the_system():
    """Which sends all ranks to the disk."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closing = threading.Thread(target=accept_and_close, args=(listener,))
        closing.start()

        with pytest.raises(OSError, match=r"closed|reset|Broken"):
            Fetched("127.0.0.1", listener.getsockname()[1], TOKEN, KEY)
        closing.join()


def accept_and_close(listener):
    """What an agent does with a stranger."""
    listener.accept()[0].close()
