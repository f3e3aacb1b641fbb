"""The protocol of supervisor and agents: one JSON object per line, after both have proved the run's token."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib import peer_messages
from clusterwright.onhost.lib.peer_messages import (
    GREETING_BYTES,
    GREETING_S,
    PeerSession,
    nonce,
    proof,
    proven,
    text,
)

__all__ = [
    "GREETING_S",
    "MALFORMED",
    "Broken",
    "Message",
    "PeerSession",
    "WireLine",
    "enable_keepalive",
    "nonce",
    "proof",
    "proven",
    "text",
]

Message = Dict[str, Any]

LONGEST = 1 << 20  # bytes of one line; a peer that sends a longer one is disconnected
# What a message with missing fields or other types raises where it is used; the peer is then disconnected.
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Broken(Exception):  # noqa: N818 (the state of the line)
    """The peer has closed the connection, or does not speak this protocol."""


class WireLine:
    """One connection; `read` returns complete messages only.

    Until it has a `session`, the peer is a stranger and may send one short message at a time. Threads may send at once.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.session: Optional[PeerSession] = None
        self._partial = b""
        self._sending = threading.Lock()
        self._failure = ""  # of a send; half a message may have left

    def fileno(self) -> int:
        """Return the connection's file descriptor, for selectors."""
        return self.connection.fileno()

    def send(self, message: Message) -> None:
        """Send one message completely over the connection.

        Raises:
            Broken: the peer is gone, or its buffer is full because it no longer reads.
        """
        data = json.dumps(message).encode()
        with self._sending:
            if self._failure:
                raise Broken(self._failure)
            try:
                self.connection.sendall((self.session.seal(data) if self.session else data) + b"\n")
            except OSError as error:
                self._failure = str(error)
                raise Broken(self._failure) from error

    def read(self) -> List[Message]:
        """Return the messages that have arrived over the connection by now; empty if none is complete.

        Raises:
            Broken: the peer closed the connection or sent something else.
        """
        limit = LONGEST if self.session else GREETING_BYTES
        try:
            data = self.connection.recv(65536 if self.session else limit + 1)
        except (BlockingIOError, socket.timeout):
            return []
        except OSError as error:
            raise Broken(str(error)) from error
        *lines, self._partial = (self._partial + data).split(b"\n")
        if not data:
            raise Broken("closed")
        if max(map(len, (*lines, self._partial))) > limit:
            raise Broken(f"a line of more than {limit} bytes")
        if not self.session and lines and (lines[1:] or self._partial):
            raise Broken("several messages before authentication")
        return [self._message(line) for line in lines]

    def read_one(self, limit_s: float = GREETING_S) -> Message:
        """Wait for one complete message and return it, within `limit_s` even if the peer sends it byte by byte.

        Raises:
            Broken: as `read`, or none came in time.
        """
        deadline = time.monotonic() + limit_s
        while (left_s := deadline - time.monotonic()) > 0:
            self.connection.settimeout(left_s)
            messages = self.read()
            if messages:
                return messages[0]
        raise Broken(f"no message within {limit_s:g} s")

    def close(self) -> None:
        """Close the connection to the peer; may be called twice."""
        self.connection.close()

    def _message(self, line: bytes) -> Message:
        try:
            return peer_messages.parse_message(self.session.opened(line) if self.session else line)
        except ValueError as error:
            raise Broken(str(error)) from error


def enable_keepalive(connection: socket.socket, timeout_s: float) -> None:
    """Make the kernel break the connection when sent data stays unacknowledged for `timeout_s` (tcp(7))."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(timeout_s * 1000))
