"""The agents of a job as their supervisor hears them, over real sockets."""

import socket
import threading
import time

import pytest

from clusterwright.onhost.supervisor import heartbeat_thread, wire
from clusterwright.onhost.supervisor.heartbeat_thread import HeartbeatThread
from clusterwright.onhost.supervisor.peers import JOINED, Peer, Peers

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


class Line:
    """A connection that is broken or not."""

    def __init__(self, *, is_broken=False):
        self.is_broken, self.sent = is_broken, []

    def send(self, message):
        """Keep the message."""
        if self.is_broken:
            raise wire.Broken("timed out")
        self.sent.append(message)


def test_an_isolated_host_gets_no_heartbeat_from_its_own_supervisor(peers):
    """The connections to all other hosts are broken: its ranks would train beside those that replace them."""
    ours, _place = peers
    own, other = Line(), Line()
    ours.by_host.update(a=Peer(own), b=Peer(other), c=Peer(Line(is_broken=True)))
    ours.send_heartbeat(1, "a")
    assert (own.sent, other.sent) == ([{"beat": 1}], [{"beat": 1}])

    other.is_broken = True
    ours.send_heartbeat(2, "a")
    assert own.sent == [{"beat": 1}]

    del ours.by_host["b"], ours.by_host["c"]  # the event loop has seen that they are lost, and goes on alone
    ours.send_heartbeat(3, "a")
    assert own.sent == [{"beat": 1}, {"beat": 3}]


def test_an_event_loop_that_turns_no_more_has_no_heartbeat(monkeypatch):
    """Only for so long is it the file server; when the loop turns again, so does the heartbeat."""
    monkeypatch.setattr(heartbeat_thread, "STALLED_S", 0.3)  # two minutes are too long for a test
    sent, one_more = [], threading.Event()
    thread = HeartbeatThread(lambda: (sent.append(1), one_more.set()) and True, 0.01)
    thread.start()
    time.sleep(0.8)
    count = len(sent)
    one_more.clear()
    assert 2 < count < 40
    assert not one_more.wait(0.3)

    thread.turn()
    assert one_more.wait(5)
    thread.stop()
