"""Listen and serve: plain HTTP only on loopback, otherwise TLS and sign-in."""

from __future__ import annotations

import resource
import socket
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from clusterwright.errors import EXIT_USAGE, WrightError, unreadable_fix
from clusterwright.file_arguments import open_argument
from clusterwright.i18n import _
from clusterwright.onhost.lib.connections import Connections

WAITING = 400  # connections that wait for a request
OF_ADDRESS = 1000  # concurrent requests and streams of one address; a tunnel brings many viewers
FILES = 4096


@dataclass(frozen=True, slots=True)
class Listener:
    """Address, port, and the certificate with its key."""

    host: str = "127.0.0.1"
    port: int = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.tls_cert is not None and self.tls_key is not None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address: `localhost` or a loopback address; False for other names."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self, port: int) -> str:
        """Return the URL for a browser, with that port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port}/"


def checked(listener: Listener, *, users: bool) -> Listener:
    """Return the listener if it is safe to serve on; `users`: whether there is any user to sign in.

    Raises:
        WrightError: it would serve unencrypted or without users to other machines, or the certificate is not usable.
    """
    if listener.tls_cert and listener.tls_key:
        _load(listener.tls_cert, listener.tls_key)
    if not listener.loopback and not listener.tls:
        raise _refused(
            "web-in-the-clear",
            _("{address} is reachable from other machines, and TLS is not set", address=listener.host),
            _(
                "set --tls-cert and --tls-key; or omit --host and connect through `ssh -L 8080:localhost:8080`"
            ),
        )
    if not listener.loopback and not users:
        raise _refused(
            "web-no-users",
            _(
                "{address} is reachable from other machines, and there is no user to sign in",
                address=listener.host,
            ),
            _("add a user first: wright web --add-user NAME --role operator"),
        )
    return listener


def _load(cert: Path, key: Path) -> None:
    for path in (cert, key):
        try:
            open_argument(path).close()
        except OSError as error:
            fix = unreadable_fix(error, path, _("pass the path of a readable file"))
            raise _refused("web-tls", f"{error.strerror}: {path}", fix) from error
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key, password=lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise _refused(
            "web-tls",
            _("{cert} and {key} are not usable: {error}", cert=cert, key=key, error=error),
            _("use PEM files, and the certificate's own key without a password"),
        ) from error


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)


def bound(listener: Listener) -> socket.socket:
    """Open the listening socket on the first address of the name; port 0 is any free port.

    Raises:
        WrightError: the address is not of this machine, or the port is in use.
    """
    try:
        family, kind, _proto, _canonname, address = socket.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM
        )[0]
        opened = socket.socket(family, kind)
    except OSError as error:
        raise _refused(
            "web-port", f"{listener.host}: {error.strerror}", _("use an address of this machine")
        ) from error
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
        opened.listen(128)  # connections before the server starts wait
    except OSError as error:
        opened.close()
        raise WrightError.from_code(
            "web-port",
            _(
                "{address} port {port}: {strerror}",
                address=listener.host,
                port=listener.port,
                strerror=error.strerror,
            ),
            _("use another --port, or stop the program that listens there"),
        ) from error
    return opened


def serve(application: ASGIApp, listener: Listener, opened: socket.socket) -> None:
    """Serve the application on the opened socket until interrupted; open files and connections are limited."""
    import uvicorn

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    connections = Connections(WAITING, OF_ADDRESS)
    config = uvicorn.Config(
        counted(application, connections), log_level="warning", access_log=False, server_header=False, date_header=True,
        proxy_headers=False, timeout_keep_alive=30, timeout_graceful_shutdown=1, limit_concurrency=FILES // 2,
        loop="asyncio", http="h11", ws="none", lifespan="on",
        ssl_certfile=listener.tls_cert, ssl_keyfile=listener.tls_key,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[LimitedListener(opened, connections)])


class LimitedListener(socket.socket):
    """A listening socket that takes over `opened`, with limits for the connections that it accepts."""

    def __init__(self, opened: socket.socket, connections: Connections) -> None:
        super().__init__(opened.family, opened.type, opened.proto, fileno=opened.detach())
        self._connections = connections

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and register it as waiting for its first request."""
        connection, peer = super().accept()
        self._connections.add(peer, connection)
        return connection, peer


def counted(application: ASGIApp, connections: Connections) -> ASGIApp:
    """Wrap the application so that a connection with a request in progress does not count as waiting."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        peer = scope.get("client") or ("", 0)
        connections.admit(peer)
        try:
            await application(scope, receive, send)
        finally:
            connections.wait(peer)

    return call
