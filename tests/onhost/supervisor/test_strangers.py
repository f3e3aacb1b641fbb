"""What strangers send to the ports of a supervisor and of an agent ends neither, and keeps nobody out."""

import contextlib
import json
import selectors
import socket
import threading
import time

import pytest

from clusterwright.onhost.lib import peer_messages
from clusterwright.onhost.supervisor import peers as peers_module
from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.peers import JOINED, MESSAGE, Peer, Peers
from clusterwright.onhost.supervisor.replicas import exchange, serving
from clusterwright.onhost.supervisor.replicas.holdings import Holdings

TOKEN = "a" * 64
HOST = "gpu-node1"
COUNT = 100_000
REAL_COUNT = 300


@pytest.fixture
def peers():
    """The connections of a supervisor whose job has one host."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = Peers(listener, TOKEN, (HOST,), 60.0, dict)
        yield ours
        for peer in [*ours.by_host.values(), *ours._strangers]:
            ours.close(peer, "over")


def turns(peers, limit_s=5.0, until=lambda events: events):
    """Run the supervisor's loop until an event satisfies `until`; return the events."""
    events, end = [], time.monotonic() + limit_s
    while not until(events) and time.monotonic() < end:
        events += peers.turn(min(0.02, limit_s))
    return events


def greeting(challenge, **changes):
    """The greeting of an agent, as a line."""
    message = {
        "host": HOST,
        "pid": 7,
        "challenge": "b",
        "proof": wire.proof(TOKEN, HOST, challenge),
        **changes,
    }
    return json.dumps(message).encode() + b"\n"


def received(peers, line):
    """The supervisor's next message to an agent."""
    messages = []
    while not messages:
        turns(peers, 0.02)
        messages = line.read()
    return messages[0]


def join(peers, address):
    """Connect as the agent of the host; return its line once it is admitted."""
    line = wire.WireLine(socket.create_connection(address))
    line.connection.settimeout(0.02)
    challenge = received(peers, line)["challenge"]
    line.connection.sendall(greeting(challenge))
    line.session = wire.PeerSession(TOKEN, challenge, "b", accepted=False)
    assert received(peers, line) == {"orders": {}}
    line.send({"ready": "127.0.0.1"})
    assert any(event.kind == JOINED for event in turns(peers, until=lambda _: HOST in peers.by_host))
    return line


def test_no_input_of_a_stranger_ends_a_supervisor(peers, hostile):
    """A hundred thousand first lines: none is admitted and none raises, whatever it is made of."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    for data in hostile(COUNT, greeting("c"), greeting("c", proof="é" * 64), greeting("c", host=["x"])):
        peer = Peer(wire.WireLine(ours), "192.0.2.1")
        peer.challenge = "other"
        theirs.sendall(data[:60_000] + b"\n")
        messages = []
        with contextlib.suppress(wire.Broken, ValueError):  # the two that `Peers` closes a connection for
            messages = peer.line.read()
            for message in messages:
                peers._greet(peer, message)
        assert not peer.host
        with contextlib.suppress(BlockingIOError):
            while ours.recv(1 << 17):
                pass
    ours.close()
    theirs.close()


def test_strangers_on_real_sockets_leave_the_agent_alone(peers, hostile):
    """The agent that has joined stays, and its messages arrive."""
    address = peers._listener.getsockname()
    line = join(peers, address)
    for data in hostile(REAL_COUNT, greeting("c")):
        with socket.create_connection(address) as stranger, contextlib.suppress(OSError):
            stranger.sendall(data + b"\n")
            turns(peers, 0.001)
    line.send({"beat": 1})

    assert turns(peers, until=lambda events: [event for event in events if event.kind == MESSAGE])
    assert list(peers.by_host) == [HOST]
    line.close()


def test_brackets_break_the_connection():
    """Sixty thousand of them once ended every training whose port was known."""
    ours, theirs = socket.socketpair()
    theirs.sendall(b"[" * 60_000 + b"\n")

    with ours, theirs, pytest.raises(wire.Broken):
        wire.WireLine(ours).read()
    with pytest.raises(ValueError, match="deep"):
        peer_messages.parse_message(b"[" * 200_000)


def test_a_stranger_holds_a_connection_for_a_limited_time(peers, monkeypatch):
    """Slow and silent connections are closed; the log has one line a minute about them."""
    monkeypatch.setattr(wire, "GREETING_S", 0.3)
    address = peers._listener.getsockname()
    strangers = [socket.create_connection(address) for _ in range(20)]
    end = time.monotonic() + 5
    notes = []
    while (not notes or peers._strangers) and time.monotonic() < end:
        notes += peers.turn(0.02)
        with contextlib.suppress(OSError):
            strangers[0].sendall(b"{")

    assert not peers._strangers
    assert len(notes) == 1
    for stranger in strangers:
        stranger.close()


def test_five_hundred_strangers_do_not_keep_an_agent_out(peers):
    """The oldest connection of the busiest address has to go."""
    address = peers._listener.getsockname()
    strangers = []
    for _ in range(500):
        strangers.append(socket.create_connection(address))
        turns(peers, 0.0005)
    turns(peers, 0.2)
    assert len(peers._strangers) <= peers_module.MOST_STRANGERS + 1

    join(peers, address).close()
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize(
    "message",
    [{"met": "x"}, {"exited": 1}, {"standby": 3}, {"memory": 7, "store": [1]}, {"stalled": 0, "ranks": 1}],
)
def test_a_message_that_cannot_be_handled_costs_its_sender_the_connection(peers, message):
    """Also of an agent with the token; other agents go on."""
    line = join(peers, peers._listener.getsockname())
    line.send(message)
    (event,) = [event for event in turns(peers) if event.kind == MESSAGE]
    said = []

    def handle(received):
        raise TypeError(received.message)

    peers.deliver(event, handle, said.append)
    assert not peers.by_host
    assert len(said) == 1
    line.close()


@pytest.fixture
def holder():
    """The server of an agent's in-memory checkpoints."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = serving.Serving(listener, TOKEN, Holdings(1))
    yield server
    server.close()


def test_no_input_of_a_stranger_passes_the_server_of_replicas(hostile):
    """A hundred thousand first messages; what they cause is what the server's thread ends by, quietly."""
    first = b'{"challenge": "aa"}'
    accepted = 0
    for data in hostile(COUNT, first, b'{"proof": "' + b"0" * 64 + b'"}'):
        try:
            message = peer_messages.parse_message(data)
            assert not wire.proven(message, TOKEN, exchange.READER, "c")
            wire.proof(TOKEN, exchange.HOLDER, wire.text(message, "challenge"))
            accepted += 1
        except ValueError:
            continue
    assert 0 < accepted < COUNT


def test_strangers_do_not_keep_readers_from_the_server_of_replicas(holder, hostile):
    """Hostile first lines and a hundred silent connections; then a reader with the token is served."""
    address = ("127.0.0.1", holder.port)
    for data in hostile(REAL_COUNT, b'{"challenge": "aa"}'):
        with socket.create_connection(address) as stranger, contextlib.suppress(OSError):
            stranger.sendall(data + b"\n")
    silent = [socket.create_connection(address) for _ in range(100)]
    with contextlib.closing(exchange.connect(*address, TOKEN, 10)) as channel:
        channel.send({"get": [1, 1, 1, 0]})
        assert channel.receive() == {"missing": [1, 1, 1, 0]}

    assert len(holder._strangers) <= serving.MOST_STRANGERS
    assert sum(thread.name == "serve-copy" for thread in threading.enumerate()) <= serving.MOST_STRANGERS + 1
    for stranger in silent:
        stranger.close()


def test_a_server_without_the_token_gets_nothing_from_a_sender(hostile):
    """A stranger that has taken the port of another host's agent; every answer is refused in time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()

        def answer(data):
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(data + b"\n")
                connection.recv(4096)

        for data in hostile(40, b'{"challenge": "aa", "proof": "' + b"0" * 64 + b'"}'):
            thread = threading.Thread(target=answer, args=(data,))
            thread.start()
            with pytest.raises((OSError, wire.Broken)):
                exchange.connect(*address, TOKEN, 1)
            thread.join()


def test_the_loop_survives_a_listener_without_connections(peers, monkeypatch):
    """A client that disconnects before it is accepted, and a process without free file descriptors."""

    def refuse():
        raise OSError(24, "Too many open files")

    listener = peers._listener

    class Refusing:
        accept = staticmethod(refuse)

    monkeypatch.setattr(peers, "_listener", Refusing())
    peers._accept()
    monkeypatch.setattr(peers, "_listener", listener)

    assert isinstance(peers._selector, selectors.BaseSelector)
    assert list(peers.turn(0)) == []
