"""A person is told: by Alertmanager's own interface where it runs, and again later where it did not take it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

PLACE = "127.0.0.1:9093"  # Alertmanager's own; here another, which is free


@pytest.fixture
def alertmanager():
    """Takes alerts as Alertmanager's version 2 does; `code` is what it answers, `taken` what it was sent."""

    class Takes(BaseHTTPRequestHandler):
        """One path."""

        code, taken, paths = 200, [], []

        def do_POST(self):
            """Kept."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.paths.append(self.path)
            self.taken.append(json.loads(body))
            self.send_response(type(self).code)
            self.end_headers()

        def log_message(self, *_):
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Takes)
    Takes.taken, Takes.paths, Takes.place = [], [], f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Takes
    server.shutdown()
    thread.join()
    server.server_close()


class Moved:
    """The way to the hosts, but Alertmanager is elsewhere."""

    def __init__(self, remote, place):
        self.remote, self.place, self.sudo = remote, place, False

    def run(self, host, command, **more):
        """The same command with that address."""
        return self.remote.run(host, command.replace(PLACE, self.place), **more)


def handed(pretended, alertmanager, looks):
    """A host whose fault is for a person, after so many looks."""
    heal = "\nheal: {mode: act, allow: [drain]}\nmonitoring: {prometheus: true}\n"
    made = pretended(heal)
    made.put("gpu-node1", fault_memory_health="1 uncorrectable")
    loop = made.loop(settle_s=0.0, remote=Moved(made.remote, alertmanager.place), spares=())
    for _ in range(looks):
        loop.tick()
    return made, loop


def test_an_alert_is_sent_once(pretended, alertmanager):
    """With the labels that group it with the node's other alerts, in both languages, and with an end."""
    made, loop = handed(pretended, alertmanager, 8)

    assert alertmanager.paths == ["/api/v2/alerts"]
    alert = alertmanager.taken[0][0]
    assert (alert["labels"]["node"], alert["labels"]["rule"]) == ("gpu-node1", "memory")
    assert "memory module" in alert["annotations"]["fix"]
    assert "内存条" in alert["annotations"]["fix_zh"]
    assert alert["endsAt"] > alert["startsAt"]
    assert not (made.folder / "nodes" / "gpu-node1" / "comment").exists()
    assert [telling.sent for telling in loop.journal.notifications()] == [1]


def test_what_is_not_taken_is_sent_again(pretended, alertmanager):
    """Nothing is lost while Alertmanager answers an error."""
    alertmanager.code = 503
    _, loop = handed(pretended, alertmanager, 5)
    before = [telling.sent for telling in loop.journal.notifications()]
    alertmanager.code = 200
    loop.tick()

    assert before == [0]
    assert [telling.sent for telling in loop.journal.notifications()] == [1]


def test_with_propose_nobody_is_written_to(pretended, alertmanager):
    """Only the loop itself says it."""
    made, said = pretended("\nheal: {}\nmonitoring: {prometheus: true}\n"), []
    made.put("control", fault_munge_on_host="no socket")
    loop = made.loop(remote=Moved(made.remote, alertmanager.place), say=said.append)
    for _ in range(3):
        loop.tick()

    assert alertmanager.taken == []
    assert len([line for line in said if line.startswith("control: ")]) == 1
