"""Listens on loopback for Alertmanager; responds with an error until the channel has accepted the message.

Every user of the host reaches loopback, so each request needs a token that only Alertmanager's account can read.
"""

from __future__ import annotations

import hmac
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.onhost.notify import send
from clusterwright.onhost.notify.heartbeat import Watch
from clusterwright.onhost.notify.settings import NotifySettings, read, request_token
from clusterwright.onhost.notify.zabbix.figures import Figures
from clusterwright.onhost.notify.zabbix.site import RefusedError, sites

MOST_BYTES = 2_000_000  # Alertmanager's largest groups are some hundred kB
MOST_REASON = 200  # characters
MOST_DIGITS = 7  # of the length
# Concurrent messages to one receiver, so that a hanging one delays no other; more get status 503, and Alertmanager
# retries.
AT_ONCE_PER_RECEIVER = 4


class Server(ThreadingHTTPServer):
    """The HTTP server with the state that its requests share."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, settings: NotifySettings) -> None:
        self.settings, self.watch, self.sites = settings, Watch(settings), sites(settings)
        receivers = (*settings.channels, *self.sites)
        self.places_of = {name: threading.BoundedSemaphore(AT_ONCE_PER_RECEIVER) for name in receivers}
        super().__init__(("127.0.0.1", settings.port), HttpAnswer)


class HttpAnswer(BaseHTTPRequestHandler):
    """Handles one HTTP request, mostly of Alertmanager."""

    server: Server
    timeout = 15
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Respond to a GET request: 200 for `/`, as a liveness check, else 404."""
        self._respond(200 if self.path == "/" else 404, "")

    def do_POST(self) -> None:
        """Receive the heartbeat (/heartbeat), or a message for a channel or Zabbix (/to/NAME), and pass it on."""
        payload = self._read_payload() if self._is_authorized() else None
        if payload is None:
            return
        if self.path == "/heartbeat":
            self.server.watch.beat()
            self._respond(200, "")
            return
        name = self.path[4:] if self.path.startswith("/to/") else ""
        places = self.server.places_of.get(name)
        if places is None:
            self._respond(404, "no such receiver")
        elif not places.acquire(blocking=False):
            self._respond(503, "too many concurrent requests")
        else:
            try:
                self._pass_on(name, payload)
                self._respond(200, "")
            except (send.DeliveryError, RefusedError) as error:
                print(error, flush=True)
                self._respond(502, str(error))
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                self._respond(400, f"not a message of Alertmanager: {error!r}"[:MOST_REASON])
            finally:
                places.release()

    def _pass_on(self, name: str, payload: Any) -> None:
        if name in self.server.sites:
            self.server.sites[name].notify(payload.get("alerts") or [])
        else:
            send.send_to_channel(self.server.settings, name, payload)

    def _is_authorized(self) -> bool:
        token = request_token(self.server.settings)
        header = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if token and hmac.compare_digest(header, f"Bearer {token}".encode()):
            return True
        self.close_connection = True
        self._respond(401, "the token of Alertmanager is missing or wrong")
        return False

    def _read_payload(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if (
            not (length.isascii() and length.isdecimal())
            or len(length) > MOST_DIGITS
            or int(length) > MOST_BYTES
        ):
            self.close_connection = True
            self._respond(413, "too large")
            return None
        document = parse_object(self.rfile.read(int(length)))
        if not document:
            self._respond(400, "the body is not a JSON object with fields")
            return None
        return document

    def _respond(self, code: int, text: str) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Log nothing; errors are printed where they occur."""


def main(path: str) -> int:
    """Serve with the settings file at the path, and start the threads of heartbeat and Zabbix; never returns."""
    server = Server(read(path))
    threading.Thread(target=_watch_loop, args=(server,), daemon=True).start()
    for site in server.sites.values():
        figures = Figures(server.settings, site, lambda: not server.watch.is_overdue)
        threading.Thread(target=figures.forever, daemon=True).start()
    server.serve_forever()
    return 0


def _watch_loop(server: Server) -> None:
    while True:
        time.sleep(server.settings.every_s)
        try:
            server.watch.check()
        except Exception as error:  # noqa: BLE001 (a thread that must never end)
            print(f"watching monitoring failed: {error!r}", flush=True)
