"""Serves scrapes from the texts in the folder, so that no scrape waits for a collector; a process of its own.

With the cluster's certificates it listens on the host's address and requires a client certificate; without them it
listens on loopback only. It exits when the certificates change, and the keeper (keeper.py) starts it again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import threading
import time
from typing import Dict, Optional, Tuple

from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.lib.connections import Connections, Peer

ENDING = ".prom"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_AT_ONCE = 16  # connections of one address, with a certificate
MOST_WAITING = 64  # connections before the handshake or the first request
MOST_HEAD = 16 << 10  # bytes of a request
REQUEST_TIMEOUT_S = 5.0  # limit for a handshake and a request
IDLE_S = 130.0  # between two requests: Prometheus scrapes every 15 s, others usually every minute
CHECK_INTERVAL_S = 10.0


class Process:
    """The keeper's side of the server's process."""

    def __init__(self, pid: int, lifeline: int) -> None:
        self.pid, self._lifeline = pid, lifeline

    def ended(self) -> bool:
        """Return True once the server's process has ended."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            return True

    def end(self) -> None:
        """Kill the server's process, wait for it, and close its pipe."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._lifeline)


def start(settings: ExporterSettings) -> Process:
    """Fork the process of the HTTP server of metrics, and return the parent's side of it.

    It runs until it is killed, its parent has ended, or the certificates change.
    """
    child_end, parent_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(child_end)
        return Process(pid, parent_end)
    os.close(parent_end)
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_exit_with_parent, args=(child_end,), daemon=True).start()
        Server(settings).serve()
    except Exception as error:  # noqa: BLE001 (a thread that must never end)
        os.write(2, f"server: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(0)


def _exit_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(0)


def joined(folder: str) -> str:
    """Return the metrics of all files in the folder as one text, in the order of their names.

    Unreadable files are skipped.
    """
    texts = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(ENDING):
            with contextlib.suppress(OSError), open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read())
    return "".join(texts)


class Server:
    """The HTTP server, which listens from its creation; `port` is the actual port."""

    def __init__(self, settings: ExporterSettings) -> None:
        self._settings = settings
        self._stamp = stamp(settings.tls)
        self._context = context(settings.tls)
        self._open: Dict[socket.socket, float] = {}  # deadline by connection
        self._connections = Connections(MOST_WAITING, MOST_AT_ONCE)
        address = settings.listen if self._context else "127.0.0.1"
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, settings.port))
        self._socket.listen(64)
        self._socket.settimeout(CHECK_INTERVAL_S)
        self.port = self._socket.getsockname()[1]

    def serve(self) -> None:
        """Answer scrapes of the metrics until the certificates change."""
        while stamp(self._settings.tls) == self._stamp:
            with contextlib.suppress(socket.timeout, ConnectionError):
                self._accept(*self._socket.accept())
            self._close_overdue()

    def _accept(self, connection: socket.socket, peer: Peer) -> None:
        connection.settimeout(REQUEST_TIMEOUT_S)
        self._open[connection] = time.monotonic() + REQUEST_TIMEOUT_S
        self._connections.add(peer, connection)
        threading.Thread(target=self._talk, args=(connection, peer), daemon=True).start()

    def _close_overdue(self) -> None:
        """Close connections past their deadline, so that slow clients do not use up the limit."""
        now = time.monotonic()
        for connection, deadline in list(self._open.items()):
            if now > deadline:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _talk(self, connection: socket.socket, peer: Peer) -> None:
        talks = connection
        try:
            if (
                self._context
            ):  # handshake later: the connection must be registered before, so that its deadline applies
                talks = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                self._open[talks] = self._open.pop(connection)
                self._connections.add(peer, talks)
                talks.do_handshake()
            self._requests(talks, peer)
        except (OSError, ValueError):  # an invalid client, or one that disconnected
            return
        finally:
            self._open.pop(talks, None)
            talks.close()

    def _requests(self, talks: socket.socket, peer: Peer) -> None:
        waiting = b""
        is_persistent = True
        while is_persistent:
            head, waiting = _head(talks, waiting)
            if not head:
                return
            self._connections.admit(peer)
            self._open[talks] = time.monotonic() + REQUEST_TIMEOUT_S
            response, is_persistent = self._answer(head)
            talks.sendall(response)
            self._open[talks] = time.monotonic() + IDLE_S
            talks.settimeout(IDLE_S)

    def _answer(self, head: bytes) -> Tuple[bytes, bool]:
        line, _, header_text = head.decode("latin-1").partition("\r\n")
        tokens = line.split(" ")
        if len(tokens) != 3 or tokens[0] not in ("GET", "HEAD"):
            return _reply("405 Method Not Allowed", "only GET\n", body=True, is_persistent=False), False
        is_persistent = tokens[2] == "HTTP/1.1" and "connection: close" not in header_text.lower()
        body = tokens[0] == "GET"
        if tokens[1].partition("?")[0] != "/metrics":
            return _reply(
                "404 Not Found", "see /metrics\n", body=body, is_persistent=is_persistent
            ), is_persistent
        return _reply(
            "200 OK", joined(self._settings.run), body=body, is_persistent=is_persistent
        ), is_persistent


def _head(talks: socket.socket, waiting: bytes) -> Tuple[bytes, bytes]:
    """Return the header of the next request and the bytes after it.

    Both are b"" at the end of the connection, and for a header larger than MOST_HEAD.
    """
    while b"\r\n\r\n" not in waiting:
        data = talks.recv(4096)
        if not data or len(waiting) > MOST_HEAD:
            return b"", b""
        waiting += data
    head, _, remainder = waiting.partition(b"\r\n\r\n")
    return head, remainder


def _reply(status: str, text: str, *, body: bool, is_persistent: bool) -> bytes:
    data = text.encode("utf-8")
    head = f"HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {len(data)}\r\n"
    head += f"Connection: {'keep-alive' if is_persistent else 'close'}\r\n\r\n"
    return head.encode() + (data if body else b"")


def context(folder: str) -> Optional[ssl.SSLContext]:
    """Return the TLS context with the host's certificate and the trusted CA; None without certificates."""
    authority, certificate, key = _files(folder)
    if not all(map(os.path.exists, (authority, certificate, key))):
        return None
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls_context.minimum_version = ssl.TLSVersion.TLSv1_2
    tls_context.load_cert_chain(certificate, key)
    tls_context.load_verify_locations(authority)
    tls_context.verify_mode = ssl.CERT_REQUIRED
    return tls_context


def stamp(folder: str) -> Tuple[int, ...]:
    """Return a value that is different after the certificates have changed."""
    return tuple(os.stat(path).st_mtime_ns if os.path.exists(path) else 0 for path in _files(folder))


def _files(folder: str) -> Tuple[str, str, str]:
    authority, certificate, key = (os.path.join(folder, name) for name in ("ca.crt", "host.crt", "host.key"))
    return authority, certificate, key
