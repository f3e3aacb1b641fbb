"""Management controllers as Redfish servers over TLS: they answer what is recorded, and keep a power state."""

import base64
import http.server
import json
import socketserver
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright.onhost.power.providers import redfish

RECORDED = Path(__file__).with_name("redfish")
SYSTEM = "/redfish/v1/Systems/437XR1138R2"
RESULT = {"On": "On", "ForceOn": "On", "ForceOff": "Off", "GracefulShutdown": "Off"}


SLOW = {
    "slow status": b"HTTP/1.1 200 O",
    "slow headers": b"HTTP/1.1 200 OK\r\nX: ",
    "slow body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
    "slow refusal": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 1000\r\n\r\n{",
}


class Drip(socketserver.BaseRequestHandler):
    """Sends the beginning of a TLS record, and then a byte now and then."""

    def handle(self):
        """Until the other side has left."""
        drip(self.request.sendall, b"\x16\x03\x03\x40\x00")


def drip(send, data):
    """Send the data, and one byte each 0.2 s."""
    with suppress(OSError):
        send(data)
        for _ in range(100):
            send(b"a")
            time.sleep(0.2)


class Controller:
    """One management controller on a port of its own; `mood` is how it behaves, `asked` all that it was asked."""

    def __init__(self, certificate, key, *, mood="well", password="secret"):
        self.mood, self.password, self.power, self.asked, self.denied = mood, password, "Off", [], 0
        self.elsewhere = ""  # where it sends who asks
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if mood == "slow handshake":
            self.server.RequestHandlerClass = Drip
        if mood != "slow handshake":
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        """Gone, with its thread."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, method, path, body, token):
        """Status, headers and what is recorded."""
        self.asked.append((method, path, body))
        if self.mood == "silent":
            time.sleep(1.5)
        if self.mood == "redirects":
            return 302, {"Location": self.elsewhere}, None
        if self.mood == "at-another-host" and path == "/redfish/v1/":
            return 200, {}, {"Systems": {"@odata.id": f"@{self.elsewhere}/"}}
        if self.mood == "endless":
            return 200, {}, "a" * (2 * redfish.LIMIT_BYTES)
        if path == "/redfish/v1/":
            return 200, {}, json.loads((RECORDED / "root.json").read_text())
        if token != base64.b64encode(f"slurm:{self.password}".encode()).decode():
            self.denied += 1
            return (
                401,
                {"WWW-Authenticate": 'Basic realm="Redfish"'},
                {"error": {"code": "Base.1.8.InsufficientPrivilege"}},
            )
        if path == "/redfish/v1/Systems":
            return 200, {}, json.loads((RECORDED / "systems.json").read_text())
        if path == SYSTEM and method == "GET":
            return 200, {}, json.loads((RECORDED / "system.json").read_text()) | {"PowerState": self.power}
        if path.endswith("/Actions/ComputerSystem.Reset"):
            return self._reset(body["ResetType"])
        return 404, {}, {"error": {"code": "Base.1.8.ResourceMissingAtURI"}}

    def _reset(self, kind):
        if self.mood == "busy":
            return 503, {"Retry-After": "30"}, {"error": {"code": "Base.1.8.ServiceTemporarilyUnavailable"}}
        if self.mood != "liar":
            self.power = RESULT[kind]
        if self.mood == "task":
            return 202, {"Location": "/redfish/v1/TaskService/Tasks/1"}, {"TaskState": "Running"}
        return 204, {}, None

    def _handler(self):
        controller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self, method):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                token = self.headers.get("Authorization", "").removeprefix("Basic ")
                if controller.mood in SLOW:
                    drip(self.wfile.write, SLOW[controller.mood])
                    return
                controller.headers = self.headers
                status, headers, said = controller.answer(method, self.path, body, token)
                data = said if isinstance(said, bytes) else b"" if said is None else json.dumps(said).encode()
                self.send_response(status, headers.pop("reason phrase", None))
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self._any("GET")

            def do_POST(self):
                self._any("POST")

            def do_PATCH(self):
                self._any("PATCH")

            def log_message(self, *_words):
                """Nothing: the test looks at `asked`."""

        return Handler


@pytest.fixture(scope="session")
def identity(tmp_path_factory):
    """A self-signed certificate of 127.0.0.1, as many controllers have, and its key."""
    folder = tmp_path_factory.mktemp("bmc")
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bmc",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)),
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return made, key


@pytest.fixture
def site(identity, tmp_path, monkeypatch):
    """`site(mood, ...)` starts a controller for each mood, as n1, n2, ..., and gives the provider and those."""
    started = []
    monkeypatch.setattr(redfish, "LIMIT_S", 0.5)
    password = tmp_path / "bmc.password"

    def start(*moods, told="secret", mode=0o600, **provider):
        password.write_text(f"{told}\n")
        password.chmod(mode)
        made, key = identity
        started.extend(Controller(made, key, mood=mood) for mood in moods)
        said = {
            "user": "slurm",
            "password_file": str(password),
            "certificate": "verify",
            "authority": str(made),
        }
        hosts = {f"n{number}": {"bmc": one.address} for number, one in enumerate(started, 1)}
        return (
            redfish.Switch(SimpleNamespace(provider=said | provider, hosts=hosts)),
            started,
            password,
        )

    yield start
    for one in started:
        one.close()
