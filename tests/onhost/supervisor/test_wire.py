import socket

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


def test_a_message_arrives_whole_or_not_yet(pair):
    """Half a line is kept until the rest is there."""
    ours, theirs = pair
    ours.connection.sendall(b'{"beat": 1}\n{"beat"')
    assert theirs.read() == [{"beat": 1}]

    ours.connection.sendall(b": 2}\n")

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
    monkeypatch.setattr(wire, "LONGEST", 100)
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
