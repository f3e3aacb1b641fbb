"""Copies of state on the wire: JSON lines and raw bytes on one connection, after both sides proved the run's token."""

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
    """The holder's side: prove the token to whoever asks, and hear the proof.

    Raises:
        Broken: they do not know the token.
    """
    theirs, ours = receive(stream), wire.nonce()
    proof = wire.proof(token, HOLDER, str(theirs["challenge"]))
    send(connection, {"proof": proof, "challenge": ours})
    if not wire.proven(receive(stream), token, READER, ours):
        raise wire.Broken("a stranger")


def patient(connection: socket.socket, timeout_s: float) -> None:
    """A connection whose other side is dead, or takes nothing for so long, is broken; one that is silent is not."""
    wire.enable_keepalive(connection, timeout_s)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        connection.setsockopt(socket.IPPROTO_TCP, option, max(1, int(timeout_s / 3)))


def connect(address: str, port: int, token: str, timeout_s: float) -> "tuple[socket.socket, BinaryIO]":
    """The other side: a proven connection to a holder.

    Raises:
        OSError: nobody answers there.
        Broken: who answers is not one of ours.
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
        raise wire.Broken("what answers there is not an agent of this run")
    send(connection, {"proof": wire.proof(token, READER, str(answer["challenge"]))})


def send(connection: socket.socket, message: wire.Message) -> None:
    """One line."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def receive(stream: BinaryIO) -> wire.Message:
    """One line.

    Raises:
        Broken: the other side closed, or said what is not ours.
    """
    line = stream.readline(wire.LONGEST)
    if not line.endswith(b"\n"):
        raise wire.Broken("closed")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise wire.Broken(f"not an object: {line[:80]!r}")
    return message


def send_bytes(connection: socket.socket, lent: Lent) -> None:
    """The part's bytes, from the kernel's pages to the network's buffers; none of them comes through this process."""
    connection.sendfile(lent.file, lent.start, lent.part.length)


def receive_bytes(stream: BinaryIO, slots: Slots, length: int) -> None:
    """So many bytes into the first slot, and the word that they are good.

    Raises:
        Broken: the other side closed before, or they were overwritten while they were sent.
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
