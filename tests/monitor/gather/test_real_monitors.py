"""A real Prometheus with our rules and a real Alertmanager, asked as the control host's program asks them."""

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.monitor.gather.alerts import alerts
from clusterwright.onhost.snapshot import monitors, snapshot
from clusterwright.provision.render.monitoring.prometheus import prometheus_conf
from clusterwright.provision.render.monitoring.rules import rules

FORGED = """
clusterwright_gpu_xid_total{node="n2",instance="n2",cluster="d",job="12",gpu="0",xid="79"} 3
clusterwright_munge_answers{node="control1"} 0
clusterwright_run_loss{run="bobs"} 1
clusterwright_slurm_node_state{node="n2",state="down"} 1
cluster:power:watts 1
node_load1{node="n2",job="12"} 1
"""
EXPORTED = """\
clusterwright_gpu_utilisation_ratio{node="n1",gpu="0"} 0.5
clusterwright_gpu_memory_used_bytes{node="n1",gpu="0"} 1073741824
clusterwright_gpu_temperature_celsius{node="n1",gpu="0"} 61
clusterwright_gpu_power_watts{node="n1",gpu="0"} 250
clusterwright_gpu_job_info{node="n1",gpu="0",uuid="GPU-1",job="12",user="bob",account="vision"} 1
clusterwright_gpu_info{node="n1",gpu="0",uuid="GPU-1",name="NVIDIA H100",driver="580"} 1
DCGM_FI_DEV_GPU_UTIL{node="n2",gpu="3"} 80
clusterwright_run_goodput_ratio{run="gpt"} 0.97
"""


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(*argv):
    """A program that runs meanwhile."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def until(ask, good):
    """The first good answer, within two minutes."""
    end, last = time.monotonic() + 120, None
    while time.monotonic() < end:
        try:
            last = ask()
        except OSError as why:
            last = why
        if good(last):
            return last
        time.sleep(0.3)
    pytest.fail(f"last: {last}")


@pytest.fixture
def exporter(request):
    """Something to scrape; its port."""
    text = getattr(request, "param", EXPORTED)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus (apt-get install prometheus)")
def test_prometheus_with_our_rules_says_what_gpus_do(tmp_path, exporter):
    """Our exporter's names and DCGM's under one; GPUs' jobs and names; runs."""
    port = free_port()
    (tmp_path / "rules.json").write_text(rules("en"))
    target = {"targets": [f"127.0.0.1:{exporter}"], "labels": {"cluster": "c"}}
    scrape = {"job_name": "x", "honor_labels": True, "static_configs": [target]}
    conf = {"global": {"scrape_interval": "1s"}, "rule_files": ["rules.json"], "scrape_configs": [scrape]}
    (tmp_path / "conf.yml").write_text(json.dumps(conf))
    options = (f"--config.file={tmp_path}/conf.yml", f"--storage.tsdb.path={tmp_path}/data")
    url = f"http://127.0.0.1:{port}"
    with running("prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"):
        gpus, runs = until(
            lambda: monitors.measures(url, 10),
            lambda found: isinstance(found, tuple) and {"n1", "n2"} <= found[0].get("utilisation", {}).keys(),
        )

    assert gpus["utilisation"] == {"n1": {"0": 0.5}, "n2": {"3": 0.8}}
    assert (gpus["job"]["n1"], gpus["name"]["n1"]) == ({"0": "12"}, {"0": "NVIDIA H100"})
    assert (gpus["memory_used"]["n1"]["0"], gpus["celsius"]["n1"]["0"], gpus["watts"]["n1"]["0"]) == (
        2**30,
        61.0,
        250.0,
    )
    assert runs == {"gpt": {"goodput": 0.97}}


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus (apt-get install prometheus)")
@pytest.mark.parametrize(("user", "names"), [(1000, ["NodeDown"]), (0, None)])
def test_users_whom_alertmanager_refuses_see_the_alerts_of_prometheus(tmp_path, monkeypatch, user, names):
    """For root, an Alertmanager that does not respond is an error."""
    port = free_port()
    rule = {"alert": "NodeDown", "expr": "vector(1)", "labels": {"node": "n1", "severity": "critical"}}
    waits = {"alert": "Waits", "expr": "vector(1)", "for": "1h"}
    groups = {"groups": [{"name": "x", "interval": "1s", "rules": [rule, waits]}]}
    (tmp_path / "rules.json").write_text(json.dumps(groups))
    (tmp_path / "conf.yml").write_text(json.dumps({"rule_files": ["rules.json"]}))
    options = (f"--config.file={tmp_path}/conf.yml", f"--storage.tsdb.path={tmp_path}/data")
    request = {"alertmanager": "http://127.0.0.1:1", "prometheus": f"http://127.0.0.1:{port}"}
    with running("prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"):
        until(
            lambda: monitors.firing_alerts(request["prometheus"], 10),
            lambda found: isinstance(found, list) and found,
        )
        monkeypatch.setattr("os.geteuid", lambda: user)
        result = {"silent": {}}
        snapshot._alerts(result, request, 10)

    if names is None:
        assert result == {"silent": {"alerts": "Connection refused"}}
    else:
        assert [each.name for each in alerts(result["alerts"])] == names
        assert alerts(result["alerts"])[0].since > 1.7e9


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus (apt-get install prometheus)")
@pytest.mark.parametrize("exporter", [FORGED], indirect=True, ids=["forged"])
def test_a_host_tells_only_of_itself(tmp_path, exporter):
    """A compute host names another node, a run, Slurm and the whole cluster; only its Slurm job is taken over."""
    port, cluster = free_port(), load_cluster(Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml")
    jobs = json.loads(prometheus_conf(cluster, host_metrics_over_tls=False))["scrape_configs"]
    scrapes = [job for job in jobs if job["job_name"] in ("clusterwright", "node")]
    for scrape in scrapes:
        labels = {"cluster": "c", "node": "n1", "instance": "n1"}
        scrape.update(static_configs=[{"targets": [f"127.0.0.1:{exporter}"], "labels": labels}])
        scrape.update(scheme="http", scrape_interval="1s", scrape_timeout="1s")
        scrape.pop("tls_config", None)
    (tmp_path / "conf.yml").write_text(json.dumps({"scrape_configs": scrapes}))
    options = (f"--config.file={tmp_path}/conf.yml", f"--storage.tsdb.path={tmp_path}/data")
    query = '{__name__=~"clusterwright_.*|cluster:.*|node_.*"}'
    with running("prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"):
        found = until(
            lambda: monitors.query_prometheus(f"http://127.0.0.1:{port}", query, time.monotonic() + 10),
            lambda found: isinstance(found, list) and len(found) > 2,
        )

    names = {labels.pop("__name__"): labels for labels, _ in found}
    assert {(row["node"], row["instance"], row["cluster"]) for row in names.values()} == {("n1", "n1", "c")}
    assert set(names) == {"clusterwright_gpu_xid_total", "clusterwright_munge_answers", "node_load1"}
    assert names["clusterwright_gpu_xid_total"]["job"] == "12"


@pytest.mark.skipif(
    not shutil.which("prometheus-alertmanager"), reason="no Alertmanager (prometheus-alertmanager)"
)
def test_alertmanager_says_which_alerts_are_on_and_which_are_muted(tmp_path):
    """An inhibited one is muted; a summary of ours is there in both languages."""
    port = free_port()
    mute = {
        "source_matchers": ['alertname="NodeDown"'],
        "target_matchers": ['alertname="GpuLost"'],
        "equal": ["node"],
    }
    conf = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}], "inhibit_rules": [mute]}
    (tmp_path / "conf.yml").write_text(json.dumps(conf))
    url = f"http://127.0.0.1:{port}"
    said = [
        {"labels": {"alertname": name, "severity": "critical", "node": "n1", "cluster": "c"},
         "annotations": {"summary": "said by a site's own rule <b>"}, "startsAt": "2026-11-23T02:13:20Z"}
        for name in ("NodeDown", "GpuLost")
    ]  # fmt: skip
    options = (
        f"--config.file={tmp_path}/conf.yml",
        f"--storage.path={tmp_path}/data",
        "--cluster.listen-address=",
    )
    with running("prometheus-alertmanager", *options, f"--web.listen-address=127.0.0.1:{port}"):
        until(lambda: monitors.alerts(url, 10), lambda found: found == [])
        told = urllib.request.Request(
            f"{url}/api/v2/alerts", json.dumps(said).encode(), {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(told, timeout=30).close()
        found = until(
            lambda: monitors.alerts(url, 10),
            lambda found: isinstance(found, list) and any(each["muted"] for each in found),
        )

    shown = alerts(found)
    assert [(each.name, each.subject, each.since, each.muted) for each in shown] == [
        ("NodeDown", "n1", 1795400000.0, False), ("GpuLost", "n1", 1795400000.0, True),
    ]  # fmt: skip
    assert shown[0].summary == "said by a site's own rule <b>"
