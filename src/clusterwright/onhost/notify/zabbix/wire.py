"""The protocol of Zabbix's trapper: header, length and JSON, in both directions."""

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
_SENT_NS = [0]  # time of the last value


class AnswerError(ValueError):
    """The server's response is missing or not Zabbix's."""


def stamped(host: str, key: str, value: str) -> dict[str, Any]:
    """Return a value with the present time, always later than the last one.

    Of two values of an item with equal times Zabbix handles only one.
    """
    _SENT_NS[0] = max(time.time_ns(), _SENT_NS[0] + 1)
    second, nanoseconds = divmod(_SENT_NS[0], 10**9)
    return {"host": host, "key": key, "value": value, "clock": second, "ns": nanoseconds}


def send(server: str, values: Sequence[dict[str, Any]], tls: ssl.SSLContext | None = None) -> tuple[int, int]:
    """Send values to a Zabbix server; return the numbers of accepted and rejected ones.

    Raises:
        OSError: the server is unreachable, or does not respond in time.
        AnswerError: the response is invalid.
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
    """Raise AnswerError for a public address: without TLS the values would be sent there in the clear."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if (getattr(ip, "ipv4_mapped", None) or ip).is_global:
        raise AnswerError(f"{address} is a public address, and values would be sent in the clear: set `tls`")


def _exchange(connection: socket.socket, values: Sequence[dict[str, Any]], end: float) -> bytes:
    body = json.dumps({"request": "sender data", "data": list(values)}, ensure_ascii=False).encode()
    connection.sendall(_HEADER + struct.pack("<Q", len(body)) + body)
    head = _read(connection, len(_HEADER) + 8, end)
    if not head.startswith(_HEADER):
        raise AnswerError("the response does not start with Zabbix's header")
    (length,) = struct.unpack("<Q", head[len(_HEADER) :])
    if length > MOST_ANSWER:
        raise AnswerError(f"the response has {length} bytes")
    return _read(connection, length, end)


def _read(connection: socket.socket, length: int, end: float) -> bytes:
    data = b""
    while len(data) < length:
        connection.settimeout(max(end - time.monotonic(), 0.01))
        more = connection.recv(length - len(data))
        if not more:
            raise AnswerError(
                f"the server closed the connection after {len(data)} bytes; check whether its host requires encryption"
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
        raise AnswerError(f"the response is not a trapper's: {answer[:200].decode(errors='replace')!r}")
    return int(match[1]), int(match[2])
