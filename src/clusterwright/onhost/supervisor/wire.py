"""The protocol of supervisor and agents: one JSON object per line, after both have proved the run's token."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
from typing import Any, Dict, List

Message = Dict[str, Any]

LONGEST = 1 << 20  # bytes of one line; a peer that sends a longer one is disconnected


class Broken(Exception):  # noqa: N818 (the state of the line)
    """The peer is gone, or does not speak this protocol."""


class WireLine:
    """One connection; `read` returns complete messages only."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._partial = b""

    def fileno(self) -> int:
        """File descriptor, for selectors."""
        return self.connection.fileno()

    def send(self, message: Message) -> None:
        """Send one message completely.

        Raises:
            Broken: the peer is gone, or its buffer is full because it no longer reads.
        """
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise Broken(str(error)) from error

    def read(self) -> List[Message]:
        """Return the messages that have arrived by now.

        Raises:
            Broken: the peer closed the connection or sent something else.
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
        """Close the connection; may be called twice."""
        self.connection.close()


def nonce() -> str:
    """Return a fresh challenge."""
    return secrets.token_hex(16)


def proof(token: str, identity: str, challenge: str) -> str:
    """Return the HMAC that proves to the challenger that `identity` has the token, without sending the token."""
    return hmac.new(token.encode(), f"{identity}|{challenge}".encode(), hashlib.sha256).hexdigest()


def proven(message: Message, token: str, identity: str, challenge: str) -> bool:
    """Return True if the message carries the right proof."""
    return hmac.compare_digest(str(message.get("proof", "")), proof(token, identity, challenge))


def enable_keepalive(connection: socket.socket, timeout_s: float) -> None:
    """Make the kernel break the connection when sent data stays unacknowledged for `timeout_s` (tcp(7))."""
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
