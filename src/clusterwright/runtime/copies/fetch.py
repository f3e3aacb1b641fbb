"""A part from an agent that holds it: over TCP, after both sides have proved that they know the run's token."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
from typing import Any

from clusterwright.runtime.checkpoints.source import Damaged

PATIENCE_S = 20.0
CONNECT_S = 5.0
_LONGEST = 1 << 20
_SKIPPED = 1 << 16


class Fetched:
    """One part's bytes as they arrive; a source (source.py) that is read from its beginning to its end."""

    def __init__(self, address: str, port: int, token: str, key: tuple[int, int, int, int]) -> None:
        self.name = f"rank {key[3]}'s part on {address}"
        self._at = 0
        self._connection = socket.create_connection((address, port), timeout=CONNECT_S)
        self._connection.settimeout(PATIENCE_S)
        self._stream = self._connection.makefile("rb")
        try:
            self._prove(token)
            self.digest, self._size = self._ask(key)
        except BaseException:
            self.close()
            raise

    def size(self) -> int:
        """As the agent says."""
        return self._size

    def read(self, start: int, into: memoryview) -> None:
        """What lies before `start` and was not asked for is passed over."""
        while self._at < start:
            self._at += self._take(memoryview(bytearray(min(start - self._at, _SKIPPED))))
        self._at += self._take(into)

    def close(self) -> None:
        """Nothing more will be read."""
        self._stream.close()
        self._connection.close()

    def _take(self, into: memoryview) -> int:
        done = 0
        while done < len(into):
            if not (got := self._stream.readinto(into[done:])):
                raise Damaged(f"{self.name} ends early")
            done += got
        return done

    def _ask(self, key: tuple[int, int, int, int]) -> tuple[str, int]:
        self._say({"get": key})
        answer = self._hear()
        if "missing" in answer:
            raise Damaged(f"{self.name} is missing")
        return str(answer["digest"]), int(answer["length"])

    def _prove(self, token: str) -> None:
        ours = secrets.token_hex(16)
        self._say({"challenge": ours})
        answer = self._hear()
        if not hmac.compare_digest(str(answer.get("proof", "")), _proof(token, "holder", ours)):
            raise ConnectionError("what answers there is not an agent of this run")
        self._say({"proof": _proof(token, "reader", str(answer["challenge"]))})

    def _say(self, message: dict[str, Any]) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _hear(self) -> dict[str, Any]:
        line = self._stream.readline(_LONGEST)
        if not line.endswith(b"\n"):
            raise ConnectionError(f"{self.name}: the agent there has closed the connection")
        message: dict[str, Any] = json.loads(line)
        return message


def _proof(token: str, who: str, challenge: str) -> str:
    return hmac.new(token.encode(), f"{who}|{challenge}".encode(), hashlib.sha256).hexdigest()
