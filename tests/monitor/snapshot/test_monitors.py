"""Prometheus and Alertmanager as they answer, answer wrongly, and do not answer."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from clusterwright.onhost.snapshot import monitors


@pytest.fixture
def serving():
    """A server on loopback that answers by a function of path and query; its address."""
    servers = []

    def start(answer):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                split = urlsplit(self.path)
                code, text = answer(split.path, parse_qs(split.query).get("query", [""])[0])
                self.send_response(code)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def vector(*rows):
    """An instant query's answer."""
    found = [{"metric": labels, "value": [1795400000.1, value]} for labels, value in rows]
    return 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}})


def test_families_are_put_together_by_node_and_gpu(serving):
    """Values that are no numbers, and rows without a GPU, are passed over."""
    rows = {
        "gpu:utilisation:ratio": [({"node": "n1", "gpu": "0"}, "0.5"), ({"node": "n1", "gpu": "1"}, "NaN")],
        "clusterwright_gpu_job_info": [({"node": "n1", "gpu": "0", "job": "12"}, "1"), ({"gpu": "0"}, "1")],
        "clusterwright_run_goodput_ratio": [({"run": "gpt"}, "0.97")],
        "clusterwright_run_slow_rank_ratio": [({"run": "gpt", "rank": "3", "host": "n1"}, "1.42")],
    }
    url = serving(lambda _, query: vector(*next((each for name, each in rows.items() if name in query), [])))

    gpus, runs = monitors.measures(url, 10)
    assert gpus == {"utilisation": {"n1": {"0": 0.5}}, "job": {"n1": {"0": "12"}}}
    assert runs == {"gpt": {"goodput": 0.97, "slow_rank": "rank 3 on n1: 1.4 times as long"}}


def test_alerts_with_their_times_in_any_zone_and_whether_they_are_muted(serving):
    """Silenced and inhibited ones are there too."""
    said = [
        {"labels": {"alertname": "A"}, "annotations": {"summary": "s"}, "startsAt": "2026-11-23T02:13:20.5Z",
         "status": {"state": "suppressed", "silencedBy": ["x"]}, "newField": 1},
        {"labels": {"alertname": "B"}, "startsAt": "2026-11-23T10:13:20.123456789+08:00",
         "status": {"state": "active"}},
        {"labels": {"alertname": "C"}, "startsAt": "nonsense"},
    ]  # fmt: skip
    found = monitors.alerts(serving(lambda *_: (200, json.dumps(said))), 10)

    assert [(each["since"], each["muted"]) for each in found] == [
        (1795400000.0, True),
        (1795400000.0, False),
        (0.0, False),
    ]


@pytest.mark.parametrize("text", ["[]", '{"data": {}}', "<html>", '{"data": {"result": [{"metric": {}}]}}'])
def test_another_program_on_that_port_is_an_error_that_is_caught(serving, text):
    """Of the kinds that far_picture.py names as missing."""
    url = serving(lambda *_: (200, text))

    if text == "[]":
        assert monitors.measures(url, 10) == ({}, {})
    else:
        with pytest.raises((KeyError, ValueError)):
            monitors.measures(url, 10)


def test_none_that_answers(serving):
    """Nothing on the port, an error of its own, and one that is too slow."""
    with pytest.raises(OSError, match="Connection refused"):
        monitors.measures("http://127.0.0.1:1", 10)
    with pytest.raises(OSError, match="HTTP status 503"):
        monitors.alerts(serving(lambda *_: (503, "starting")), 10)

    slow = serving(lambda *_: (time.sleep(20), vector())[1])
    before = time.monotonic()
    with pytest.raises(OSError, match="timed out"):
        monitors.measures(slow, 0.3)
    assert time.monotonic() - before < 15
