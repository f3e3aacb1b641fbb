"""Limits of connections: who is closed, and who is not."""

import socket

import pytest

from clusterwright.onhost.lib.connections import Connections


@pytest.fixture
def opened():
    """`opened()`: the server's side of a connection, and the peer's."""
    pairs = []

    def make():
        pairs.append(socket.socketpair())
        return pairs[-1]

    yield make
    for pair in pairs:
        for side in pair:
            side.close()


def is_closed(side):
    """Whether the server has closed the connection."""
    side.setblocking(False)
    try:
        return side.recv(1) == b""
    except BlockingIOError:
        return False


def test_too_many_that_wait_cost_the_address_with_the_most(opened):
    """The oldest of them; not one that was admitted, nor one of another address."""
    connections, sides = Connections(3, 9), {}
    for address, port in (("eve", 1), ("bob", 1), ("eve", 2), ("eve", 3), ("eve", 4), ("eve", 5)):
        ours, sides[address, port] = opened()
        connections.add((address, port, 0, 0), ours)
        if (address, port) == ("eve", 1):
            connections.admit((address, port, 0, 0))

    assert {peer for peer, side in sides.items() if is_closed(side)} == {("eve", 2), ("eve", 3)}


def test_one_address_has_a_limit_of_its_own(opened):
    """Of admitted ones; closed ones and those that wait again do not count."""
    connections, sides = Connections(9, 2), []
    for port in range(5):
        ours, theirs = opened()
        connections.add(("eve", port), ours)
        connections.admit(("eve", port))
        if port == 0:
            connections.wait(("eve", 0))
        if port == 1:
            ours.close()
        sides.append(theirs)

    assert [is_closed(side) for side in sides] == [False, True, True, False, False]
