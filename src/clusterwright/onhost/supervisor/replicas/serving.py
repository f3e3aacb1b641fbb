"""Hands out the parts that this host holds, and takes those of the host before it.

A connection begins with proofs on both sides that the run's token is known. Then a request a line: `put`, followed
by the bytes of a part, or `get`, answered with them. Bytes that were overwritten while they went out do not fit
their checksums, and whoever reads them says so.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import asdict
from typing import BinaryIO

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.host import available
from clusterwright.onhost.supervisor.replicas import exchange
from clusterwright.onhost.supervisor.replicas.holdings import Holdings
from clusterwright.onhost.supervisor.replicas.slots import Part

# who says nothing for so long, or takes nothing, is gone
TIMEOUT_S = 20.0
# of what the job may still take, left to the training
SPARED = 0.1


class Serving:
    """Serves on a socket that is bound already, in threads: one that waits, and one for each connection."""

    def __init__(self, listener: socket.socket, token: str, holdings: Holdings) -> None:
        self._listener, self._token, self._holdings = listener, token, holdings
        self.port = int(listener.getsockname()[1])
        listener.setblocking(True)  # noqa: FBT003 (the socket's own signature)
        threading.Thread(target=self._accept, name="serve-copies", daemon=True).start()

    def close(self) -> None:
        """Nobody new; connections end with their other side."""
        with contextlib.suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="serve-copy", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        exchange.patient(connection, TIMEOUT_S)
        connection.settimeout(TIMEOUT_S)
        with connection, connection.makefile("rb") as stream:
            try:
                exchange.challenge(connection, stream, self._token)
                connection.settimeout(None)  # the host before us is silent for as long as it copies nothing
                while True:
                    self._answer(connection, stream, exchange.receive(stream))
            except (OSError, wire.Broken, KeyError, TypeError, ValueError):
                return  # gone, or not one of ours: what it had begun is forgotten

    def _answer(self, connection: socket.socket, stream: BinaryIO, request: wire.Message) -> None:
        if "get" in request:
            self._send_part(connection, tuple(request["get"]))
        else:
            self._receive_part(connection, stream, Part(**request["put"]))

    def _send_part(self, connection: socket.socket, key: "tuple[int, ...]") -> None:
        lent = self._holdings.lend(key)  # type: ignore[arg-type]  # (any other tuple is not found)
        if lent is None:
            exchange.send(connection, {"missing": list(key)})
            return
        with lent.file:
            exchange.send(connection, asdict(lent.part))
            exchange.send_bytes(connection, lent)

    def _receive_part(self, connection: socket.socket, stream: BinaryIO, part: Part) -> None:
        reason = _capacity_error(part.length)
        exchange.send(connection, {"refused": reason} if reason else {"take": True})
        if reason:
            return
        slots = self._holdings.allocate()
        try:
            exchange.receive_bytes(stream, slots, part.length)
        except BaseException:
            self._holdings.release(slots)
            raise
        self._holdings.store(slots, part)
        exchange.send(connection, {"kept": True})


def _capacity_error(length: int) -> str:
    free_bytes = available.available_bytes()
    return (
        ""
        if length < (1 - SPARED) * free_bytes
        else f"a copy of {length} bytes, and {free_bytes} bytes of memory left"
    )
