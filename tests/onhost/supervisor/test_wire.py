import socket
import time

import pytest

from clusterwright.onhost.supervisor import wire


@pytest.fixture
def pair():
    """Two ends of a connection; the second does not block."""
    ends = socket.socketpair()
    ends[1].setblocking(False)
    yield wire.WireLine(ends[0]), wire.WireLine(ends[1])
    for end in ends:
        end.close()


def authenticated(pair, token="token"):
    """Both ends have the session of a greeting that is over."""
    for line, accepted in zip(pair, (True, False), strict=True):
        line.session = wire.PeerSession(token, "a", "b", accepted=accepted)
    return pair


def test_a_message_arrives_whole_or_not_yet(pair):
    """Half a line is kept until the rest is there."""
    ours, theirs = authenticated(pair)
    first, second = (ours.session.seal(b'{"beat": %d}' % number) + b"\n" for number in (1, 2))
    ours.connection.sendall(first + second[:9])
    assert theirs.read() == [{"beat": 1}]

    ours.connection.sendall(second[9:])

    assert theirs.read() == [{"beat": 2}]
    assert theirs.read() == []


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\n", b"[1]\n", b"\xff\n"])
def test_a_stranger_who_speaks_otherwise_is_broken(pair, line):
    """Whatever is not one JSON object a line ends the connection."""
    pair[0].connection.sendall(line)

    with pytest.raises(wire.Broken):
        pair[1].read()


def test_a_closed_connection_is_broken(pair):
    """Silence is not: that is for the one who counts the time."""
    pair[0].close()

    with pytest.raises(wire.Broken):
        pair[1].read()


def test_a_line_without_end_is_broken(pair, monkeypatch):
    """A stranger cannot fill our memory."""
    monkeypatch.setattr(wire, "GREETING_BYTES", 100)
    pair[0].connection.sendall(b"x" * 200)

    with pytest.raises(wire.Broken):
        pair[1].read()


def test_only_who_knows_the_token_can_prove_it():
    """The proof holds for one name, one challenge and one token."""
    challenge = wire.nonce()
    message = {"proof": wire.proof("secret", "gpu-node1", challenge)}

    assert wire.proven(message, "secret", "gpu-node1", challenge)
    assert not wire.proven(message, "secret", "gpu-node2", challenge)
    assert not wire.proven(message, "other", "gpu-node1", challenge)
    assert not wire.proven(message, "secret", "gpu-node1", wire.nonce())
    assert not wire.proven({}, "secret", "gpu-node1", challenge)


def test_a_message_that_the_peer_did_not_send_breaks_the_connection(pair):
    """Inserted, changed, repeated, omitted and reflected messages."""
    ours, theirs = pair
    for tampered in (
        lambda sealed: b'{"beat": 7}\n',
        lambda sealed: sealed[0].replace(b"1", b"2") + b"\n",
        lambda sealed: sealed[0] + b"\n" + sealed[0] + b"\n",
        lambda sealed: sealed[1] + b"\n",
    ):
        authenticated(pair)
        sealed = [ours.session.seal(b'{"beat": %d}' % number) for number in (1, 2)]
        ours.connection.sendall(tampered(sealed))
        with pytest.raises(wire.Broken, match="did not send"):
            theirs.read()
        theirs._partial = b""
    authenticated(pair)
    theirs.connection.sendall(theirs.session.seal(b'{"beat": 1}') + b"\n")
    theirs.send({"beat": 2})
    reflected = ours.connection.recv(1000)
    ours.connection.sendall(reflected)
    with pytest.raises(wire.Broken, match="did not send"):
        theirs.read()


def test_nothing_follows_a_greeting_before_it_is_answered(pair):
    """A message that came in one packet with the greeting would be taken for an authenticated one."""
    pair[0].connection.sendall(b'{"host": "a"}\n{"ready": "10.0.0.1"}\n')

    with pytest.raises(wire.Broken, match="before authentication"):
        pair[1].read()


def test_a_peer_that_sends_a_byte_now_and_then_does_not_delay_the_agent(pair):
    """The limit is for the whole message."""
    pair[0].connection.sendall(b"{")
    begun = time.monotonic()

    with pytest.raises(wire.Broken, match="within"):
        pair[1].read_one(0.2)
    assert time.monotonic() - begun < 2


def test_after_half_a_message_nothing_else_is_sent(pair):
    """The peer would read the rest of another message as the end of this one."""
    theirs, ours = pair  # ours does not block
    with pytest.raises(wire.Broken):
        ours.send({"long": "x" * 10_000_000})
    assert theirs.connection.recv(1 << 24)  # there is space again

    with pytest.raises(wire.Broken):
        ours.send({"beat": 1})
