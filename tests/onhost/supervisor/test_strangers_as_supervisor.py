"""What a stranger sends who took the port of a dead supervisor neither ends an agent nor gives it orders."""

import socket
from types import SimpleNamespace

import pytest

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.node import Agent

COUNT = 100_000
TOKEN = "a" * 64
CHALLENGE = b'{"challenge": "aa"}'
ORDERS = b'{"orders": {"beat": 1, "hosts": ["gpu-node1"], "token": ""}}'
REPEATED = (OSError, wire.Broken, *wire.MALFORMED)  # after these an agent searches for its supervisor again


@pytest.fixture
def agent():
    """An agent that has found a listener at the supervisor's address."""
    agent, agent.greeted = Agent.__new__(Agent), []
    agent.host, agent.orders = "gpu-node1", {}
    agent._failover = SimpleNamespace(greeted=agent.greeted.append)
    return agent


def greet(agent, first, second):
    """Greet a listener that sends these bytes; return what it received."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(first)
        theirs.shutdown(socket.SHUT_WR) if second is None else theirs.sendall(second)
        with pytest.raises(REPEATED):
            agent._greet(wire.WireLine(ours), TOKEN)
        theirs.setblocking(False)
        try:
            return theirs.recv(1 << 16)
        except BlockingIOError:
            return b""


def test_no_listener_without_the_token_gives_orders(agent, hostile, monkeypatch):
    """A hundred thousand hostile lines, first or after a valid one; nothing that the agent sends is the token."""
    monkeypatch.setattr(wire.WireLine.read_one, "__defaults__", (0.01,))
    proofs = 0
    for number, data in enumerate(hostile(COUNT, CHALLENGE, ORDERS)):
        line = data[:60_000] + b"\n"
        sent = greet(agent, CHALLENGE + b"\n", line) if number % 2 else greet(agent, line, None)
        proofs += b"proof" in sent
        assert TOKEN.encode() not in sent
    assert (agent.greeted, agent.orders) == ([], {})
    assert 0 < proofs < COUNT


def test_only_the_runs_supervisor_gives_orders(agent):
    """Its message is sealed under the challenges of both."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = wire.WireLine(ours)
        theirs.sendall(CHALLENGE + b"\n")
        original = line.send

        def send(message):
            original(message)
            session = wire.PeerSession(TOKEN, "aa", message["challenge"], accepted=True)
            theirs.sendall(session.seal(ORDERS) + b"\n")

        line.send = send
        with pytest.raises(AttributeError):  # what follows the orders needs more of an agent
            agent._greet(line, TOKEN)

    assert agent.greeted == [agent.orders]
    assert agent.orders["beat"] == 1
