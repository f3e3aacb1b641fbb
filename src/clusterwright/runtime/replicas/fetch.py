"""Fetches a part of an in-memory checkpoint from another host's agent over TCP, with mutual authentication by token."""

from __future__ import annotations

import json
import socket
from typing import Any

from clusterwright.onhost.lib import peer_messages
from clusterwright.runtime.checkpoints.source import Damaged

TIMEOUT_S = 20.0
CONNECT_S = 5.0
_LONGEST = 1 << 20
_SKIPPED = 1 << 16


class Fetched:
    """The bytes of one part as they arrive: a source (checkpoints/source.py) that can only be read forward."""

    def __init__(self, address: str, port: int, token: str, key: tuple[int, int, int, int]) -> None:
        self.name = f"rank {key[3]}'s part on {address}"
        self._offset = 0
        self._connection = socket.create_connection((address, port), timeout=CONNECT_S)
        self._session: peer_messages.PeerSession | None = None
        self._stream = self._connection.makefile("rb")
        try:
            self._prove(token)
            self._connection.settimeout(TIMEOUT_S)
            self.digest, self._size = self._request_part(key)
        except BaseException:
            self.close()
            raise

    def size(self) -> int:
        """Return the number of bytes of the part, as the other host's agent reports."""
        return self._size

    def read(self, start: int, into: memoryview) -> None:
        """Fill `into` with the part's bytes from offset `start` on, discarding those before it.

        Raises:
            Damaged: the part ends early.
        """
        while self._offset < start:
            self._offset += self._read_into(memoryview(bytearray(min(start - self._offset, _SKIPPED))))
        self._offset += self._read_into(into)

    def close(self) -> None:
        """Close the connection to the other host's agent, from which the part is read."""
        self._stream.close()
        self._connection.close()

    def _read_into(self, into: memoryview) -> int:
        offset = 0
        while offset < len(into):
            if not (count := self._stream.readinto(into[offset:])):
                raise Damaged(f"{self.name} ends early")
            offset += count
        return offset

    def _request_part(self, key: tuple[int, int, int, int]) -> tuple[str, int]:
        self._send({"get": key})
        answer = self._receive()
        if "missing" in answer:
            raise Damaged(f"{self.name} is missing")
        return str(answer["digest"]), int(answer["length"])

    def _prove(self, token: str) -> None:
        ours = peer_messages.nonce()
        self._send({"challenge": ours})
        answer = peer_messages.parse_message(peer_messages.read_greeting(self._connection))
        if not peer_messages.proven(answer, token, "holder", ours):
            raise ConnectionError(f"{self.name}: the server is not an agent of this run")
        theirs = peer_messages.text(answer, "challenge")
        self._send({"proof": peer_messages.proof(token, "reader", theirs)})
        self._session = peer_messages.PeerSession(token, theirs, ours, accepted=False)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        self._connection.sendall((self._session.seal(data) if self._session else data) + b"\n")

    def _receive(self) -> dict[str, Any]:
        line = self._stream.readline(_LONGEST)
        if not line.endswith(b"\n") or not self._session:
            raise ConnectionError(f"{self.name}: the agent closed the connection")
        return peer_messages.parse_message(self._session.opened(line[:-1]))
