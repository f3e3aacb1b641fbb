import itertools
import socket

import pytest

from clusterwright.onhost.supervisor import network


def test_the_loopback_interface_is_found_by_its_network():
    """The interface's name comes from the address, since no file knows it."""
    assert network.inside("127.0.0.0/8", network.interfaces()) == ("lo", "127.0.0.1")


def test_loopback_comes_last():
    """In a network as wide as all addresses, other hosts reach the other interface."""
    assert network.inside("0.0.0.0/0", {"lo": "127.0.0.1", "eth0": "10.98.0.1"}) == ("eth0", "10.98.0.1")


def test_a_network_that_the_host_is_not_on_is_none():
    """No guess is made."""
    assert network.inside("10.99.0.0/24", {"lo": "127.0.0.1", "eth0": "10.98.0.1"}) is None


def test_a_port_that_is_taken_is_passed_over(monkeypatch):
    """The next one of the range is handed out."""
    monkeypatch.setattr(network.secrets, "randbelow", lambda _: 4242)
    with network.listen("127.0.0.1") as first, network.listen("127.0.0.1") as second:
        ports = first.getsockname()[1], second.getsockname()[1]

    assert network.FIRST_PORT <= ports[0] < ports[1] <= network.LAST_PORT


def test_nobody_can_predict_a_port():
    """Twenty ports in a row have no common distance."""
    ports = [network.free_port("127.0.0.1") for _ in range(20)]

    assert len({second - first for first, second in itertools.pairwise(ports)}) > 10


def test_what_listens_can_be_reached():
    """Whoever is told the port finds somebody there."""
    with (
        network.listen("127.0.0.1") as listener,
        socket.create_connection(listener.getsockname()) as line,
    ):
        assert line.getpeername() == listener.getsockname()


def test_an_address_of_another_host_is_an_error():
    """It is not mistaken for a range without free ports."""
    with pytest.raises(OSError, match="assign"):
        network.listen("192.0.2.1")
