"""The probe that fetches, over TLS from a server that wants a certificate."""

import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import clusterwright
from clusterwright.edge.certificates import certificates
from clusterwright.edge.clock import SystemClock

PROBE = Path(clusterwright.__file__).parent / "onhost" / "probes" / "fetch.py"


class Answer(BaseHTTPRequestHandler):
    """Some metrics."""

    def do_GET(self):
        """One row."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"up 1\n")

    def log_message(self, *_args):
        """Nothing."""


@pytest.fixture
def server(tmp_path):
    """One of node1's, and where its certificates lie."""
    certificates(tmp_path, {"node1": "DNS:node1,IP:127.0.0.1"}, SystemClock())
    tls = tmp_path / "tls"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls / "ca.crt")
    context.load_cert_chain(tls / "node1.crt", tls / "node1.key")
    context.verify_mode = ssl.CERT_REQUIRED
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield listening.server_port, tls
    listening.shutdown()
    listening.server_close()


def fetch(*words):
    """Exit code and words of the probe."""
    done = subprocess.run(
        [sys.executable, PROBE, *words], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout


def test_with_the_hosts_certificate_it_is_answered(server):
    """And believes the cluster's authority alone."""
    port, tls = server

    assert fetch(f"https://127.0.0.1:{port}/metrics", tls / "ca.crt", tls / "node1.crt", tls / "node1.key") == (
        0, "up 1\n",
    )  # fmt: skip


def test_in_the_clear_or_without_files_it_says_why(server, tmp_path):
    """One line, and no traceback."""
    port, _tls = server
    missing = [tmp_path / name for name in ("ca.crt", "host.crt", "host.key")]

    for words in ([f"http://127.0.0.1:{port}/"], [f"https://127.0.0.1:{port}/", *missing]):
        code, said = fetch(*words)
        assert code == 1
        assert said.startswith("error: ")
        assert said.count("\n") == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_one_that_never_answers_times_out_in_whatever_words_of_python(server, scheme):
    """Python has other words for a handshake that times out than for an answer."""
    _port, tls = server
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/metrics"
        files = (tls / "ca.crt", tls / "node1.crt", tls / "node1.key") if scheme == "https" else ()

        assert fetch(address, *files) == (124, "error: timed out\n")
