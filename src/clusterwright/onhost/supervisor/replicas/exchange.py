"""Transfer of replicas: JSON lines and raw bytes on one connection, after both sides have proved the run's token."""

from __future__ import annotations

import json
import socket
from typing import Optional

from clusterwright.onhost.lib import peer_messages
from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.replicas.holdings import Lent
from clusterwright.onhost.supervisor.replicas.slots import Slots

# a host that is up answers within milliseconds
CONNECT_S = 2.0
HOLDER = "holder"
READER = "reader"
CHUNK_BYTES = 1 << 22


class Channel:
    """One connection between agents: messages, and raw bytes between them.

    Until it has a `session`, the peer is a stranger and may send short messages only.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.stream = connection, connection.makefile("rb")
        self.session: Optional[wire.PeerSession] = None

    def send(self, message: wire.Message) -> None:
        """Send one message to the peer agent as a JSON line, sealed once the peers have authenticated."""
        data = json.dumps(message).encode()
        self.connection.sendall((self.session.seal(data) if self.session else data) + b"\n")

    def receive(self) -> wire.Message:
        """Receive and return one message of the peer.

        Raises:
            Broken: the peer closed the connection or sent something else.
        """
        try:
            if not self.session:
                return peer_messages.parse_message(peer_messages.read_greeting(self.connection))
            line = self.stream.readline(wire.LONGEST)
            if not line.endswith(b"\n"):
                raise wire.Broken("closed")
            return peer_messages.parse_message(self.session.opened(line[:-1]))
        except ValueError as error:
            raise wire.Broken(str(error)) from error

    def close(self) -> None:
        """Close the connection to the other agent; may be called twice."""
        self.stream.close()
        self.connection.close()


def accept(channel: Channel, token: str) -> None:
    """Authenticate on the holder's side: prove the token to the client and check its proof.

    Raises:
        Broken: the client does not have the token.
        ValueError: it sent something else.
    """
    theirs, ours = wire.text(channel.receive(), "challenge"), wire.nonce()
    channel.send({"proof": wire.proof(token, HOLDER, theirs), "challenge": ours})
    if not wire.proven(channel.receive(), token, READER, ours):
        raise wire.Broken("not authenticated")
    channel.session = wire.PeerSession(token, ours, theirs, accepted=True)


def patient(connection: socket.socket, timeout_s: float) -> None:
    """Make the kernel break the connection if the peer is dead or acknowledges no data for `timeout_s`.

    An idle connection stays open.
    """
    wire.enable_keepalive(connection, timeout_s)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        connection.setsockopt(socket.IPPROTO_TCP, option, max(1, int(timeout_s / 3)))


def connect(address: str, port: int, token: str, timeout_s: float) -> Channel:
    """Return an authenticated connection to a holder of replicas; `timeout_s` limits each later wait for it.

    Raises:
        OSError: no connection within CONNECT_S, or no answer within `timeout_s`.
        Broken: the peer is not an agent of this run.
        ValueError: it sent something else.
    """
    channel = Channel(socket.create_connection((address, port), timeout=CONNECT_S))
    try:
        channel.connection.settimeout(timeout_s)
        patient(channel.connection, timeout_s)
        _prove(channel, token)
    except BaseException:
        channel.close()
        raise
    return channel


def _prove(channel: Channel, token: str) -> None:
    ours = wire.nonce()
    channel.send({"challenge": ours})
    answer = channel.receive()
    if not wire.proven(answer, token, HOLDER, ours):
        raise wire.Broken("the peer is not an agent of this run")
    theirs = wire.text(answer, "challenge")
    channel.send({"proof": wire.proof(token, READER, theirs)})
    channel.session = wire.PeerSession(token, theirs, ours, accepted=False)


def send_bytes(connection: socket.socket, lent: Lent) -> None:
    """Send the bytes of a part of a checkpoint with sendfile, so that this process does not copy them."""
    connection.sendfile(lent.file, lent.start, lent.part.length)


def receive_bytes(channel: Channel, slots: Slots, length: int) -> None:
    """Receive `length` bytes into slot 0, then the sender's confirmation that they are unchanged.

    Raises:
        Broken: the peer closed too early, or the bytes were overwritten during the transfer.
    """
    received = 0
    with slots.bytes(0, length) as buffer, memoryview(buffer) as view:
        while received < length:
            with view[received : min(length, received + CHUNK_BYTES)] as chunk:
                count = channel.stream.readinto(chunk)
            if not count:
                raise wire.Broken("closed")
            received += count
    if not channel.receive().get("good"):
        raise wire.Broken("overwritten")
