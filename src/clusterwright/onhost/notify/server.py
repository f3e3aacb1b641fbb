"""Listens on loopback for Alertmanager: an error is answered until the room has taken the message."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clusterwright.onhost.notify import send
from clusterwright.onhost.notify.settings import Settings, read
from clusterwright.onhost.notify.silence import Watch
from clusterwright.onhost.notify.zabbix.figures import Figures
from clusterwright.onhost.notify.zabbix.site import RefusedError, sites

MOST_BYTES = 2_000_000  # Alertmanager's largest groups are some hundred kB
AT_ONCE = 8  # messages on their way; more are asked to come again
AT_ONCE_THERE = 4  # to one Zabbix: one that hangs keeps no chat room waiting


class Server(ThreadingHTTPServer):
    """With what its requests share."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, settings: Settings) -> None:
        self.settings, self.watch, self.sites = settings, Watch(settings), sites(settings)
        self.places = threading.BoundedSemaphore(AT_ONCE)
        self.places_of = {name: threading.BoundedSemaphore(AT_ONCE_THERE) for name in self.sites}
        super().__init__(("127.0.0.1", settings.port), Answer)


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 15
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Whether it lives."""
        self._say(200 if self.path == "/" else 404, "")

    def do_POST(self) -> None:
        """A message for a room, or the heartbeat."""
        told = self._told()
        if told is None:
            return
        if self.path == "/heartbeat":
            self.server.watch.beat()
            self._say(200, "")
            return
        name = self.path[4:] if self.path.startswith("/to/") else ""
        places = self.server.places_of.get(name, self.server.places)
        if name not in self.server.settings.rooms and name not in self.server.sites:
            self._say(404, "no such receiver")
        elif not places.acquire(blocking=False):
            self._say(503, "too many at once")
        else:
            try:
                self._pass_on(name, told)
                self._say(200, "")
            except (send.NotTakenError, RefusedError) as why:
                print(why, flush=True)
                self._say(502, str(why))
            finally:
                places.release()

    def _pass_on(self, name: str, told: Any) -> None:
        if name in self.server.sites:
            self.server.sites[name].tell(told.get("alerts") or [])
        else:
            send.to_room(self.server.settings, name, told)

    def _told(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            self._say(413, "too large")
            return None
        try:
            found = json.loads(self.rfile.read(int(length)))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self._say(400, "a JSON object is wanted")
            return None
        return found

    def _say(self, code: int, text: str) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Nothing: what fails says so itself."""


def main(path: str) -> int:
    """Serves until it is ended."""
    server = Server(read(path))
    threading.Thread(target=_look, args=(server,), daemon=True).start()
    for site in server.sites.values():
        figures = Figures(server.settings, site, lambda: not server.watch.silent)
        threading.Thread(target=figures.forever, daemon=True).start()
    server.serve_forever()
    return 0


def _look(server: Server) -> None:
    while True:
        time.sleep(server.settings.every_s)
        try:
            server.watch.look()
        except Exception as why:  # noqa: BLE001 (a thread that must never end)
            print(f"looking at monitoring itself failed: {why!r}", flush=True)
