"""Serve the parts that this host holds, and receive replicas of the previous host's.

A connection starts with proofs on both sides that they have the run's token. Then one request per line:
`put`, followed by the bytes of a part, or `get`, answered with them. Bytes overwritten during a transfer fail
the reader's checksum.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
from dataclasses import asdict
from typing import List

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.host import available
from clusterwright.onhost.supervisor.replicas import exchange
from clusterwright.onhost.supervisor.replicas.holdings import Holdings
from clusterwright.onhost.supervisor.replicas.slots import SlotPart

# a peer that acknowledges nothing for so long is lost
TIMEOUT_S = 20.0
# connections without proof of the token
MOST_STRANGERS = 32
# share of the available memory that is left to the training
SPARED = 0.1


class Serving:
    """Serves on a bound socket, in threads: one that accepts, and one per connection."""

    def __init__(self, listener: socket.socket, token: str, holdings: Holdings) -> None:
        self._listener, self._token, self._holdings = listener, token, holdings
        self._strangers: List[socket.socket] = []  # without proof, oldest first
        self.port = int(listener.getsockname()[1])
        listener.setblocking(True)  # noqa: FBT003 (the socket's own signature)
        threading.Thread(target=self._accept, name="serve-copies", daemon=True).start()

    def close(self) -> None:
        """Stop accepting connections; open ones end with their peer."""
        with contextlib.suppress(OSError):  # already closed
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                    self._drop_strangers(0)
                    continue
                return
            self._strangers.append(connection)
            self._drop_strangers(MOST_STRANGERS)
            threading.Thread(target=self._serve, args=(connection,), name="serve-copy", daemon=True).start()

    def _drop_strangers(self, most: int) -> None:
        """Disconnect the oldest clients that have not proved the token if there are more than `most`."""
        strangers = list(self._strangers)
        for connection in strangers[: max(0, len(strangers) - most)]:
            with contextlib.suppress(OSError):  # already broken
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.closing(exchange.Channel(connection)) as channel:
            try:
                exchange.patient(connection, TIMEOUT_S)
                connection.settimeout(TIMEOUT_S)
                exchange.accept(channel, self._token)
                self._strangers.remove(connection)
                connection.settimeout(None)  # the previous host sends nothing while its ranks copy nothing
                while True:
                    self._answer(channel, channel.receive())
            except (OSError, wire.Broken, *wire.MALFORMED):
                return  # lost or not authenticated: an unfinished transfer is dropped
            finally:
                if connection in self._strangers:
                    self._strangers.remove(connection)

    def _answer(self, channel: exchange.Channel, request: wire.Message) -> None:
        if "get" in request:
            self._send_part(channel, tuple(request["get"]))
        else:
            self._receive_part(channel, SlotPart(**request["put"]))

    def _send_part(self, channel: exchange.Channel, key: "tuple[int, ...]") -> None:
        lent = self._holdings.lend(key)  # type: ignore[arg-type]  # (any other tuple is not found)
        if lent is None:
            channel.send({"missing": list(key)})
            return
        with lent.file:
            channel.send(asdict(lent.part))
            exchange.send_bytes(channel.connection, lent)

    def _receive_part(self, channel: exchange.Channel, part: SlotPart) -> None:
        reason = _capacity_error(part.length)
        channel.send({"refused": reason} if reason else {"take": True})
        if reason:
            return
        slots = self._holdings.allocate()
        try:
            exchange.receive_bytes(channel, slots, part.length)
        except BaseException:
            self._holdings.release(slots)
            raise
        self._holdings.store(slots, part)
        channel.send({"kept": True})


def _capacity_error(length: int) -> str:
    free_bytes = available.available_bytes()
    return (
        ""
        if length < (1 - SPARED) * free_bytes
        else f"a replica needs {length} bytes, and {free_bytes} bytes of memory are available"
    )
