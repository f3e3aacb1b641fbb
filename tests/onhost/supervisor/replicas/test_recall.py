import socket

import pytest

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.peers import Peer
from clusterwright.onhost.supervisor.replicas.recall import chosen, memory_message


@pytest.fixture
def peer():
    """An agent as the supervisor sees it, at an address, with what it said of itself."""
    ours = []

    def make(address, **facts):
        ours.extend(socket.socketpair())
        one = Peer(wire.WireLine(ours[-1]))
        one.address, one.facts = address, facts
        return one

    yield make
    for each in ours:
        each.close()


def held(*parts):
    """A report with these parts, each generation, step, world size and rank."""
    return {"parts": [list(part) for part in parts], "fence": [0, 0]}


def test_what_living_hosts_hold_is_found_and_told(peer):
    """Also what a host holds that will not train; each host's copies go to the next."""
    here = {
        "a": peer("10.0.0.1", copies=1000, memory=held((1, 9, 2, 0))),
        "b": peer("10.0.0.2", copies=2000, memory=held()),
        "spare": peer("10.0.0.3", copies=3000, memory=held((1, 9, 2, 1))),
    }
    message = memory_message(here, ["a", "b"], chosen(here, 5))

    assert message["memory"]["step"] == 9
    assert message["memory"]["places"] == [[["10.0.0.1", 1000]], [["10.0.0.3", 3000]]]
    assert message["next"] == {"a": ["10.0.0.2", 2000], "b": ["10.0.0.1", 1000]}


def test_a_host_that_is_alone_has_no_next(peer):
    """Nor does anybody hold anything."""
    here = {"a": peer("10.0.0.1", copies=1000, memory=held())}

    assert memory_message(here, ["a"], chosen(here, 0)) == {"memory": None, "next": {}}


def test_agents_that_copy_nothing_say_nothing(peer):
    """Plain torchrun starts the ranks."""
    here = {"a": peer("10.0.0.1", store=1), "b": peer("10.0.0.2", store=2)}

    assert memory_message(here, ["a", "b"], chosen(here, 0)) == {"memory": None, "next": {}}
