"""The agents of a job as their supervisor hears them, over real sockets."""

import socket

import pytest

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.peers import JOINED, Peers

TOKEN = "token"


@pytest.fixture
def peers():
    """A supervisor's, of one host `a`, and where it listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Peers(listener, TOKEN, ("a",), 60.0, dict), listener.getsockname()


def heard(peers, line):
    """What the agent hears next, while the supervisor has its turns."""
    line.connection.settimeout(0.05)
    while True:
        joined = [one for one in peers.turn(0.01) if one.kind == JOINED]
        messages = line.read()
        if messages or joined:
            return messages


def agent(peers, place):
    """Host `a` has joined."""
    line = wire.WireLine(socket.create_connection(place))
    (challenge,) = heard(peers, line)
    proof = wire.proof(TOKEN, "a", challenge["challenge"])
    line.send({"host": "a", "pid": 1, "challenge": "b", "proof": proof})
    line.session = wire.PeerSession(TOKEN, challenge["challenge"], "b", accepted=False)
    assert heard(peers, line) == [{"orders": {}}]
    line.send({"ready": "127.0.0.1"})
    heard(peers, line)
    assert list(peers.by_host) == ["a"]
    return line


def test_agents_are_told_when_it_is_over(peers):
    """They leave; who does not is waited for no longer than that."""
    ours, place = peers
    line = agent(ours, place)
    ours.farewell(0.1)

    assert line.read() == [{"end": True}]
    ours.disconnect_all()
    line.close()


def test_agents_are_told_nothing_when_another_supervisor_follows(peers):
    """They would leave, and what they hold in memory with them; nobody takes their next connection for ours."""
    ours, place = peers
    line = agent(ours, place)
    ours.disconnect_all()

    with pytest.raises(wire.Broken, match="closed"):
        line.read()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(place)
    assert not ours.by_host
    line.close()
