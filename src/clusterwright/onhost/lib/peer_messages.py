"""Messages of network peers: JSON objects, parsed safely, and proofs of a shared token (standard library, Python 3.6).

A peer that has not proved the token may send one line of GREETING_BYTES. After both proofs each message carries an
HMAC under the keys of this connection, so that nobody can insert, change, repeat or omit one.
"""

import hashlib
import hmac
import json
import secrets
import socket
import time
from typing import Any, Dict

from clusterwright.onhost.lib.numbers import JSON_DIGITS, json_integer

GREETING_BYTES = 4096  # of a line before authentication; ours have a few hundred
GREETING_S = 10.0  # for such a line; a busy host answers within a second
MAC_BYTES = 64  # hexadecimal SHA-256


def parse_message(line: bytes) -> Dict[str, Any]:
    """Return the JSON object of a message of a peer.

    Raises:
        ValueError: not UTF-8, not JSON, not an object, nested too deeply, or with a number that is too large.
    """
    try:
        message = json.loads(
            line.decode("utf-8"), parse_int=json_integer, parse_float=_finite, parse_constant=_finite
        )
    except RecursionError:
        raise ValueError("nested too deeply: %r" % line[:80]) from None
    except ValueError as error:
        raise ValueError("not JSON: %r (%s)" % (line[:80], error)) from error
    if isinstance(message, dict):
        return message
    raise ValueError("not an object: %r" % line[:80])


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise ValueError("the number %s" % digits[:JSON_DIGITS])
    return number


def read_greeting(connection: socket.socket, limit_s: float = GREETING_S) -> bytes:
    """Read and return the first line of a peer that has not authenticated, within the limit in any case.

    Nothing after the line is read.

    Raises:
        OSError: no line of GREETING_BYTES came in time, or the peer is gone.
    """
    line, deadline, usual = b"", time.monotonic() + limit_s, connection.gettimeout()
    while not line.endswith(b"\n"):
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        waiting = connection.recv(GREETING_BYTES, socket.MSG_PEEK)
        if not waiting:
            raise ConnectionError("the peer closed the connection")
        line += connection.recv(waiting.find(b"\n") + 1 or len(waiting))
        if len(line) > GREETING_BYTES:
            raise ConnectionError("no greeting of at most %d bytes" % GREETING_BYTES)
    connection.settimeout(usual)
    return line


def nonce() -> str:
    """Return a new random challenge for a peer."""
    return secrets.token_hex(16)


def proof(token: str, identity: str, challenge: str) -> str:
    """Return the HMAC that proves to the challenger that `identity` has the token, without sending the token."""
    return _digest(token.encode(), "%s|%s" % (identity, challenge))


def proven(message: Dict[str, Any], token: str, identity: str, challenge: str) -> bool:
    """Return True if the message has the HMAC that proves the token (see `proof`)."""
    received = message.get("proof")
    if not isinstance(received, str) or len(received) != MAC_BYTES:
        return False
    return hmac.compare_digest(_bytes(received), proof(token, identity, challenge).encode())


def text(message: Dict[str, Any], name: str) -> str:
    """Return a text field of a message.

    Raises:
        ValueError: the field is missing, or is not text.
    """
    value = message.get(name)
    if isinstance(value, str):
        return value
    raise ValueError("the message has no text %r" % name)


class PeerSession:
    """Adds an HMAC to each message of an authenticated connection, and checks the peer's.

    Both sides derive the keys from the token and both challenges; `accepted`: this side accepted the connection.
    """

    def __init__(self, token: str, acceptors: str, connectors: str, *, accepted: bool) -> None:
        key = _digest(token.encode(), "\0session|%s|%s" % (acceptors, connectors)).encode()
        keys = [_digest(key, side).encode() for side in ("acceptor", "connector")]
        self._send_key, self._receive_key = keys if accepted else keys[::-1]
        self._sent = self._received = 0

    def seal(self, data: bytes) -> bytes:
        """Return the data of the next message to the peer with its HMAC in front; the HMAC covers its number."""
        self._sent += 1
        return _mac(self._send_key, self._sent, data) + data

    def opened(self, line: bytes) -> bytes:
        """Verify a line's HMAC and return the message without it.

        Raises:
            ValueError: the HMAC is not that of the peer's next message.
        """
        self._received += 1
        data = line[MAC_BYTES:]
        if not hmac.compare_digest(line[:MAC_BYTES], _mac(self._receive_key, self._received, data)):
            raise ValueError("a message that the peer did not send")
        return data


def _mac(key: bytes, number: int, data: bytes) -> bytes:
    return hmac.new(key, b"%d|" % number + data, hashlib.sha256).hexdigest().encode()


def _digest(key: bytes, content: str) -> str:
    return hmac.new(key, _bytes(content), hashlib.sha256).hexdigest()


def _bytes(content: str) -> bytes:
    """Return text of a peer, which may have lone surrogates, as UTF-8."""
    return content.encode("utf-8", "surrogatepass")
