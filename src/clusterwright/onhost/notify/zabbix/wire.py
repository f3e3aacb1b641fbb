"""The protocol of Zabbix's trapper: a mark, a length, and JSON, there and back."""

from __future__ import annotations

import ipaddress
import json
import re
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from typing import Any

TIMEOUT_S = 8.0
MOST_ANSWER = 65536
_HEADER = b"ZBXD\x01"
_COUNTS = re.compile(r"processed: (\d+); failed: (\d+)")
_SENT_NS = [0]  # of the value that was sent last


class AnswerError(ValueError):
    """The server's answer is none, or none of Zabbix's."""


def stamped(host: str, key: str, value: str) -> dict[str, Any]:
    """A value of now, and later than each before it: of two of one moment Zabbix would see the first alone."""
    _SENT_NS[0] = max(time.time_ns(), _SENT_NS[0] + 1)
    second, nanoseconds = divmod(_SENT_NS[0], 10**9)
    return {"host": host, "key": key, "value": value, "clock": second, "ns": nanoseconds}


def send(server: str, values: Sequence[dict[str, Any]], tls: ssl.SSLContext | None = None) -> tuple[int, int]:
    """How many values the server has taken, and how many it has not.

    Raises:
        OSError: it cannot be reached, or does not answer in time.
        AnswerError: what it answered makes no sense.
    """
    host, _, port = server.rpartition(":")
    end = time.monotonic() + TIMEOUT_S
    with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
        if tls is None:
            refuse_public(connection.getpeername()[0])
            return _counts(_exchange(connection, values, end))
        with tls.wrap_socket(connection, server_hostname=host) as secret:
            return _counts(_exchange(secret, values, end))


def refuse_public(address: str) -> None:
    """Before anything has been said.

    Raises:
        AnswerError: what is said would go in the clear through networks of strangers.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if (getattr(ip, "ipv4_mapped", None) or ip).is_global:
        raise AnswerError(f"{address} is a public address, and it would go there in the clear: set `tls`")


def _exchange(connection: socket.socket, values: Sequence[dict[str, Any]], end: float) -> bytes:
    body = json.dumps({"request": "sender data", "data": list(values)}, ensure_ascii=False).encode()
    connection.sendall(_HEADER + struct.pack("<Q", len(body)) + body)
    head = _read(connection, len(_HEADER) + 8, end)
    if not head.startswith(_HEADER):
        raise AnswerError("its answer does not begin as Zabbix's do")
    (length,) = struct.unpack("<Q", head[len(_HEADER) :])
    if length > MOST_ANSWER:
        raise AnswerError(f"its answer has {length} bytes")
    return _read(connection, length, end)


def _read(connection: socket.socket, length: int, end: float) -> bytes:
    data = b""
    while len(data) < length:
        connection.settimeout(max(end - time.monotonic(), 0.01))
        more = connection.recv(length - len(data))
        if not more:
            raise AnswerError(
                f"it closed the connection after {len(data)} bytes; does its host want encryption?"
            )
        data += more
    return data


def _counts(answer: bytes) -> tuple[int, int]:
    try:
        document = json.loads(answer)
        match = _COUNTS.match(document["info"]) if document["response"] == "success" else None
    except (ValueError, KeyError, TypeError):
        match = None
    if match is None:
        raise AnswerError(f"its answer is none of a trapper: {answer[:200].decode(errors='replace')!r}")
    return int(match[1]), int(match[2])
