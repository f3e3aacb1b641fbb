"""What supervisor and node agents say to each other: one JSON object a line, after both proved the run's token."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
from typing import Any, Dict, List

Message = Dict[str, Any]

LONGEST = 1 << 20  # bytes of one line; a stranger who never ends a line is shown the door


class Broken(Exception):  # noqa: N818 (it reads as what it says: the line is broken)
    """The other side is gone, or is not one of ours."""


class Line:
    """One connection; `read` gives what has arrived, and never a part of a message."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._partial = b""

    def fileno(self) -> int:
        """For selectors."""
        return self.connection.fileno()

    def send(self, message: Message) -> None:
        """Send whole.

        Raises:
            Broken: the other side is gone, or has not read for so long that the buffer is full.
        """
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise Broken(str(error)) from error

    def read(self) -> List[Message]:
        """The messages that have arrived by now.

        Raises:
            Broken: the other side closed, or said what is not ours.
        """
        try:
            data = self.connection.recv(65536)
        except (BlockingIOError, TimeoutError):
            return []
        except OSError as error:
            raise Broken(str(error)) from error
        *lines, self._partial = (self._partial + data).split(b"\n")
        if not data or len(self._partial) > LONGEST:
            raise Broken("closed")
        return [_message(line) for line in lines]

    def close(self) -> None:
        """Close; twice is once."""
        self.connection.close()


def nonce() -> str:
    """A fresh challenge."""
    return secrets.token_hex(16)


def proof(token: str, identity: str, challenge: str) -> str:
    """That `identity` knows the token, without saying it: a listener on the network learns nothing to use."""
    return hmac.new(token.encode(), f"{identity}|{challenge}".encode(), hashlib.sha256).hexdigest()


def proven(message: Message, token: str, identity: str, challenge: str) -> bool:
    """True when the message carries the right proof."""
    return hmac.compare_digest(str(message.get("proof", "")), proof(token, identity, challenge))


def enable_keepalive(connection: socket.socket, timeout_s: float) -> None:
    """A connection over which nothing is acknowledged for that long is broken (tcp(7))."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(timeout_s * 1000))


def _message(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise Broken(f"not JSON: {line[:80]!r}") from error
    if not isinstance(message, dict):
        raise Broken(f"not an object: {line[:80]!r}")
    return message
