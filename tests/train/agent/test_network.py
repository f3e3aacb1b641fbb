import socket

import pytest

from clusterwright.train.agent import network


def test_the_loopback_interface_is_found_by_its_network():
    """The interface's name comes from the address, since no file knows it."""
    assert network.inside("127.0.0.0/8", network.interfaces()) == ("lo", "127.0.0.1")


def test_a_network_that_the_host_is_not_on_is_none():
    """No guess is made."""
    assert network.inside("10.99.0.0/24", {"lo": "127.0.0.1", "eth0": "10.98.0.1"}) is None


def test_a_port_that_is_taken_is_passed_over():
    """The next one of the range is handed out."""
    first = network.bindable_port("127.0.0.1", 4242)
    with socket.create_server(("127.0.0.1", first)):
        second = network.bindable_port("127.0.0.1", 4242)

    assert network.FIRST_PORT <= first < second <= network.LAST_PORT


def test_an_address_of_another_host_is_an_error():
    """It is not mistaken for a range without free ports."""
    with pytest.raises(OSError, match="assign"):
        network.bindable_port("192.0.2.1", 1)
