"""Transfer of replicas: JSON lines and raw bytes on one connection, after both sides have proved the run's token."""

from __future__ import annotations

import json
import socket
from typing import BinaryIO

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.replicas.holdings import Lent
from clusterwright.onhost.supervisor.replicas.slots import Slots

# a host that is up answers within milliseconds
CONNECT_S = 2.0
HOLDER = "holder"
READER = "reader"
CHUNK_BYTES = 1 << 22


def challenge(connection: socket.socket, stream: BinaryIO, token: str) -> None:
    """Authenticate on the holder's side: prove the token to the client and check its proof.

    Raises:
        Broken: the client does not have the token.
    """
    theirs, ours = receive(stream), wire.nonce()
    proof = wire.proof(token, HOLDER, str(theirs["challenge"]))
    send(connection, {"proof": proof, "challenge": ours})
    if not wire.proven(receive(stream), token, READER, ours):
        raise wire.Broken("not authenticated")


def patient(connection: socket.socket, timeout_s: float) -> None:
    """Break the connection if the peer is dead or acknowledges no data for `timeout_s`; an idle one stays open."""
    wire.enable_keepalive(connection, timeout_s)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        connection.setsockopt(socket.IPPROTO_TCP, option, max(1, int(timeout_s / 3)))


def connect(address: str, port: int, token: str, timeout_s: float) -> "tuple[socket.socket, BinaryIO]":
    """Return an authenticated connection to a holder of replicas.

    Raises:
        OSError: nothing answers there.
        Broken: the peer is not an agent of this run.
    """
    connection = socket.create_connection((address, port), timeout=CONNECT_S)
    stream = connection.makefile("rb")
    try:
        connection.settimeout(timeout_s)
        patient(connection, timeout_s)
        _prove(connection, stream, token)
    except BaseException:
        stream.close()
        connection.close()
        raise
    return connection, stream


def _prove(connection: socket.socket, stream: BinaryIO, token: str) -> None:
    ours = wire.nonce()
    send(connection, {"challenge": ours})
    answer = receive(stream)
    if not wire.proven(answer, token, HOLDER, ours):
        raise wire.Broken("the peer is not an agent of this run")
    send(connection, {"proof": wire.proof(token, READER, str(answer["challenge"]))})


def send(connection: socket.socket, message: wire.Message) -> None:
    """Send one message as a JSON line."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def receive(stream: BinaryIO) -> wire.Message:
    """Receive one message.

    Raises:
        Broken: the peer closed the connection or sent something else.
    """
    line = stream.readline(wire.LONGEST)
    if not line.endswith(b"\n"):
        raise wire.Broken("closed")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise wire.Broken(f"not an object: {line[:80]!r}")
    return message


def send_bytes(connection: socket.socket, lent: Lent) -> None:
    """Send the part's bytes with sendfile: none of them passes through this process."""
    connection.sendfile(lent.file, lent.start, lent.part.length)


def receive_bytes(stream: BinaryIO, slots: Slots, length: int) -> None:
    """Receive `length` bytes into slot 0, then the sender's confirmation that they are unchanged.

    Raises:
        Broken: the peer closed too early, or the bytes were overwritten during the transfer.
    """
    received = 0
    with slots.bytes(0, length) as buffer, memoryview(buffer) as view:
        while received < length:
            with view[received : min(length, received + CHUNK_BYTES)] as chunk:
                count = stream.readinto(chunk)  # type: ignore[attr-defined]  # (typeshed's BinaryIO lacks it)
            if not count:
                raise wire.Broken("closed")
            received += count
    if not receive(stream).get("good"):
        raise wire.Broken("overwritten")
