"""What strangers send to the exporter and to the receiver of alerts ends neither."""

import contextlib
import io
import json
import os
import socket
import threading

import pytest

from clusterwright.onhost.exporter import server as exporter
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.notify import server as notify
from clusterwright.onhost.notify.settings import AUTHORIZATION, NotifySettings

COUNT = 100_000
REAL_COUNT = 200
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close"
ALERT = b'{"alerts": [{"status": "firing", "labels": {"alertname": "a"}, "annotations": {"fix": "b"}}]}'


@pytest.fixture
def scrapes(tmp_path, monkeypatch):
    """The exporter's server, with one text."""
    monkeypatch.setattr(exporter, "CHECK_INTERVAL_S", 0.2)
    (tmp_path / "a.prom").write_text("up 1\n")
    ours = exporter.Server(ExporterSettings(port=0, run=str(tmp_path), tls=str(tmp_path / "tls")))
    thread = threading.Thread(target=ours.serve, daemon=True)
    yield ours, thread
    (tmp_path / "tls").mkdir()
    (tmp_path / "tls" / "ca.crt").write_text("new\n")  # which ends the server
    if thread.ident:
        thread.join()
    ours._socket.close()


def test_any_request_to_the_exporter_has_an_answer(scrapes, hostile):
    """A hundred thousand requests; only the one path has the metrics."""
    ours, _ = scrapes
    answers = {ours._answer(data)[0].split(b"\r\n")[0] for data in hostile(COUNT, SCRAPE)}

    assert answers == {b"HTTP/1.1 405 Method Not Allowed", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 200 OK"}


def test_strangers_do_not_end_the_exporter(scrapes, hostile):
    """On real sockets; then it is scraped."""
    ours, thread = scrapes
    thread.start()
    for data in hostile(REAL_COUNT, SCRAPE):
        with socket.create_connection(("127.0.0.1", ours.port)) as stranger, contextlib.suppress(OSError):
            stranger.sendall(data + b"\r\n\r\n")
    answers = []
    while not any(b"up 1" in answer for answer in answers) and len(answers) < 50:
        with socket.create_connection(("127.0.0.1", ours.port)) as scraper:
            scraper.sendall(SCRAPE + b"\r\n\r\n")
            with contextlib.suppress(OSError):  # while all places are taken
                answers.append(scraper.recv(4096))

    assert b"up 1" in answers[-1]


def test_connections_that_send_nothing_do_not_stop_scrapes(scrapes):
    """More than there are places for."""
    ours, thread = scrapes
    thread.start()
    address = ("127.0.0.1", ours.port)
    idle = [socket.create_connection(address) for _ in range(exporter.MOST_WAITING + 20)]
    with socket.create_connection(address) as scraper:
        scraper.sendall(SCRAPE + b"\r\n\r\n")
        answer = scraper.recv(4096)
    for connection in idle:
        connection.close()

    assert b"up 1" in answer


@pytest.fixture
def receiver(tmp_path):
    """The receiver of alerts, with a channel whose address is of no host."""
    (tmp_path / "a").write_text("http://127.0.0.1:9/\n")
    (tmp_path / AUTHORIZATION).write_text("secret")
    settings = NotifySettings("c", "control1", "en", 0, str(tmp_path), {"a": "feishu"}, "", str(tmp_path))
    with notify.Server(settings) as ours:
        yield ours


class Request(notify.HttpAnswer):
    """A request without a socket."""

    def __init__(self, server, data):
        self.server, self.rfile, self.wfile = server, io.BytesIO(data), io.BytesIO()
        self.client_address, self.close_connection = ("127.0.0.1", 1), True
        self.handle_one_request()


def test_any_request_to_the_receiver_has_an_answer(receiver, hostile, monkeypatch, capfd):
    """A hundred thousand bodies and heads: an HTTP status, and no exception."""
    monkeypatch.setattr(notify.send, "post", lambda *_, **__: b'{"code": 0}')
    head = b"POST /to/a HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: %d\r\n\r\n"
    statuses = set()
    for number, data in enumerate(hostile(COUNT, ALERT)):
        whole = head % len(data) + data
        if number % 4 == 0:  # the head is hostile too
            whole = data + whole[number % len(whole) :]
        answer = Request(receiver, whole).wfile.getvalue()
        statuses.add(answer[9:12] if answer.startswith(b"HTTP/1.1 ") else b"")

    assert (
        {b"200", b"400"}
        <= statuses
        <= {b"", b"200", b"400", b"401", b"404", b"413", b"414", b"431", b"501", b"505", b"502"}
    )
    assert "Traceback" not in capfd.readouterr().err


def test_many_nested_alerts_are_refused(receiver):
    """Brackets, and lengths in other digits."""
    for body, length in ((b"[" * 60_000, b"60000"), (b"{}", "٢".encode()), (b"{}", b"9" * 5000)):
        answer = Request(
            receiver,
            b"POST /heartbeat HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: "
            + length
            + b"\r\n\r\n"
            + body,
        )
        assert answer.wfile.getvalue()[9:12] in (b"400", b"413")
    assert os.path.exists("/")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer wrong\r\n",
        "Authorization: secret\r\n",
        "Authorization: Bearer s\xe9\r\n",
    ],
)
def test_nobody_forges_an_alert_or_the_heartbeat(receiver, monkeypatch, tmp_path, header):
    """All users of the host reach loopback, and only Alertmanager's account can read the token."""
    sent = []
    monkeypatch.setattr(notify.send, "post", lambda *_, **__: sent.append(1) or b'{"code": 0}')
    receiver.watch.last = beat = -1000.0
    body = json.dumps({"alerts": [{"status": "firing"}]}).encode()

    def status(path, header):
        head = f"POST {path} HTTP/1.1\r\n{header}Content-Length: {len(body)}\r\n\r\n"
        return Request(receiver, head.encode("latin-1") + body).wfile.getvalue()[9:12]

    assert {status("/to/a", header), status("/heartbeat", header)} == {b"401"}
    assert (sent, receiver.watch.last) == ([], beat)
    assert status("/to/a", "Authorization: Bearer secret\r\n") == b"200"
    (tmp_path / AUTHORIZATION).unlink()
    assert status("/to/a", "Authorization: Bearer \r\n") == b"401"
