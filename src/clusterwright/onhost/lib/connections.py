"""Limits on the connections of a server, so that no peer uses up those of others (standard library, Python 3.6).

A connection waits until its peer has authenticated or has sent a request, which takes milliseconds; then it is
admitted. Of too many that wait, the oldest of the address with the most is closed; of too many admitted ones of an
address, its oldest.
"""

import contextlib
import socket
import threading
from collections import Counter
from typing import Any, Dict, List, Sequence, Tuple

Peer = Tuple[Any, ...]  # as accept() returns it: address, port, ...


def oldest_of_busiest(addresses: Sequence[Any]) -> int:
    """Return the index of the first occurrence of the address that occurs most often."""
    ((address, _),) = Counter(addresses).most_common(1)
    return addresses.index(address)


class Connections:
    """The open connections of a server; thread-safe. `waiting` and `of_address` are the limits."""

    def __init__(self, waiting: int, of_address: int) -> None:
        self._waiting_limit, self._address_limit, self._lock = waiting, of_address, threading.Lock()
        self._open: Dict[Peer, Tuple[socket.socket, bool]] = {}  # the flag: admitted

    def add(self, peer: Peer, connection: socket.socket) -> None:
        """Add a connection as waiting, or replace its socket (TLS).

        If too many wait, the oldest waiting one of the address with the most of them is closed.
        """
        with self._lock:
            self._open = {
                key: row for key, row in self._open.items() if row[0].fileno() >= 0
            }  # drop closed ones
            self._open[peer[:2]] = (connection, False)
            waiting = self._peers(admitted=False)
            if len(waiting) > self._waiting_limit:
                self._shut(waiting[oldest_of_busiest([address for address, _ in waiting])])

    def admit(self, peer: Peer) -> None:
        """Mark the connection as admitted; close the oldest admitted one of its address if there are too many."""
        with self._lock:
            self._move(peer, admitted=True)
            same = [each for each in self._peers(admitted=True) if each[0] == peer[0]]
            if len(same) > self._address_limit:
                self._shut(same[0])

    def wait(self, peer: Peer) -> None:
        """Mark a connection as waiting for a request again; such ones may be closed if too many wait."""
        with self._lock:
            self._move(peer, admitted=False)

    def _move(self, peer: Peer, *, admitted: bool) -> None:
        row = self._open.pop(peer[:2], None)
        if row:
            self._open[peer[:2]] = (row[0], admitted)

    def _peers(self, *, admitted: bool) -> List[Peer]:
        return [peer for peer, row in self._open.items() if row[1] == admitted]

    def _shut(self, peer: Peer) -> None:
        with contextlib.suppress(OSError):
            self._open.pop(peer)[0].shutdown(socket.SHUT_RDWR)
