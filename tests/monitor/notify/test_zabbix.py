"""A fault is seen in a real Zabbix 6.0: by Prometheus, Alertmanager and our program, as they run on a control host."""

import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.edge.certificates import certificates
from clusterwright.edge.clock import SystemClock
from clusterwright.onhost.notify.settings import NotifySettings
from clusterwright.onhost.notify.zabbix.site import RefusedError, ZabbixSite
from clusterwright.provision.render.monitoring.alertmanager import NOTIFY, SECRETS, alertmanager_conf
from clusterwright.provision.render.monitoring.rules import rules
from clusterwright.provision.render.monitoring.zabbix import zabbix_template
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles.certificates import SCRAPE
from clusterwright.provision.roles.notify import SETTINGS, TEMPLATE, notify

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[3]
HOT = 'clusterwright_gpu_temperature_celsius{gpu="0"}'
HOSTS = (STAYS, LEAVES, HEATS, SILENCED, MISSED) = (
    "n1",
    "n2",
    "n3",
    "n4",
    "n5",
)  # one for each test, in any order
SENSOR = 'node_hwmon_temp_celsius{chip="c"}'


@dataclass
class Exporter:
    """A host's exporter: what it says can be changed, and it can go away."""

    port: int
    says: dict = field(default_factory=dict)


@contextmanager
def exporter(port, says):
    """It answers as long as the block lasts."""
    found = Exporter(port, dict(says))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            data = "".join(f"{name} {value}\n" for name, value in found.says.items()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Chain:
    """The site's Zabbix, its host for the cluster, and hosts of the cluster."""

    site: object
    host: str
    hosts: dict
    folder: Path
    ports: dict
    until: object
    restart: object = None  # of our program
    leave: object = None  # ends n2

    def problem(self, alert, node):
        """The open one of this alert and host, if there is."""
        rows = self.site.problems(self.host)
        found = [one for one in rows if (one["tags"].get("alert"), one["tags"].get("node")) == (alert, node)]
        assert len(found) <= 1, found
        return found[0] if found else None


def authorities(folder):
    """The cluster's own, as an apply makes it, and the site's, which signs Zabbix's certificate."""
    certificates(folder, {f".{SCRAPE}": f"DNS:{SCRAPE}"}, SystemClock())
    tls = folder / "tls"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    site = ["-subj", "/CN=site", "-keyout", tls / "site.key", "-out", tls / "site.crt"]
    own = ["-subj", "/CN=zabbix", "-keyout", tls / "server.key", "-out", tls / "server.crt"]
    own += ["-CA", tls / "site.crt", "-CAkey", tls / "site.key", "-addext", "subjectAltName=IP:127.0.0.1"]
    for rest in (site, [*own, "-addext", "basicConstraints=critical,CA:FALSE"]):
        subprocess.run([*request, *rest], check=True, capture_output=True)


def cluster_of(folder, **receiver):
    """examples/lab, with Zabbix as its receiver."""
    section = {
        "prometheus": True, "notify": ["zabbix"],
        "receivers": {"zabbix": {"kind": "zabbix", "severity": "info", **receiver}},
    }  # fmt: skip
    file = folder / "cluster.yaml"
    text = (ROOT / "examples" / "lab" / "cluster.yaml").read_text()
    file.write_text(f"{text}\nmonitoring: {json.dumps(section)}\n")
    return load_cluster(file)


def rendered(cluster):
    """What the role puts on the control host, by path."""
    found = notify(cluster, cluster.control, RoleContext())
    return {one.path: one.content for one in found if hasattr(one, "path")}


@pytest.fixture(scope="module")
def chain(tmp_path_factory, zabbix_site):
    """Everything that runs; Zabbix takes the template and a host by hand, as the guide says."""
    if lacks := zabbix_site.lacking():
        pytest.skip(f"{', '.join(lacks)} not here: run tools/setup zabbix, or install {zabbix_site.PACKAGES}")
    for name in ("prometheus", "prometheus-alertmanager"):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    folder = tmp_path_factory.mktemp("zabbix")
    with ExitStack() as stack:
        site = stack.enter_context(zabbix_site.zabbix(folder, authorities))
        cluster = cluster_of(folder, server=f"127.0.0.1:{site.port}")
        files = rendered(cluster)
        site.take(files[TEMPLATE])
        host = site.host(cluster.name, "Clusterwright")
        ports = {name: zabbix_site.free_port() for name in (*HOSTS, "prometheus", "alertmanager", "notify")}
        write(folder, cluster, ports)
        leaving = stack.enter_context(ExitStack())
        hosts = {
            name: (leaving if name == LEAVES else stack).enter_context(
                exporter(ports[name], {HOT: 61, SENSOR: 42.5})
            )
            for name in HOSTS
        }
        run = zabbix_site.process
        stack.enter_context(run(
            "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
            f"--web.listen-address=127.0.0.1:{ports['prometheus']}", log=folder / "prometheus.log",
        ))  # fmt: skip
        stack.enter_context(run(
            "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/alerts",
            f"--web.listen-address=127.0.0.1:{ports['alertmanager']}", "--cluster.listen-address=",
            log=folder / "alertmanager.log",
        ))  # fmt: skip
        ours = (sys.executable, "-m", "clusterwright.onhost.notify", f"{folder}/notify.json")
        running = stack.enter_context(ExitStack())

        def restart():
            running.close()
            running.enter_context(run(*ours, log=folder / "notify.log", PYTHONPATH=str(ROOT / "src")))

        restart()
        yield Chain(site, host, hosts, folder, ports, zabbix_site.until, restart, leaving.close)


def tell(chain, body, name="zabbix"):
    """What our program answers to Alertmanager; None while it cannot be reached."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{chain.ports['notify']}/to/{name}", json.dumps({"alerts": [body]}).encode()
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as why:
        return why.code, why.read().decode()
    except OSError:
        return None


def write(folder, cluster, ports):
    """The files of the three programs, with other ports and folders."""
    at = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    settings = json.loads(rendered(cluster)[SETTINGS]) | {
        "port": ports["notify"], "secrets": str(folder), "alertmanager": at["alertmanager"], "data": "/",
        "prometheus": at["prometheus"], "state": str(folder), "figures_every_s": 5,
        "resolve_timeout_s": 10, "least_free": 0,
    }  # fmt: skip
    (folder / "notify.json").write_text(json.dumps(settings))
    conf = alertmanager_conf(cluster).replace(SECRETS, str(folder)).replace(NOTIFY, at["notify"])
    (folder / "alertmanager.yml").write_text(conf)
    (folder / "rules.yml").write_text(rules("en"))
    targets = [
        {"targets": [f"127.0.0.1:{ports[name]}"], "labels": {"cluster": cluster.name, "node": name}}
        for name in HOSTS
    ]
    (folder / "prometheus.yml").write_text(json.dumps({
        "global": {"scrape_interval": "2s", "evaluation_interval": "5s", "external_labels": {"cluster": cluster.name}},
        "rule_files": ["rules.yml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [at["alertmanager"][7:]]}]}]},
        "scrape_configs": [{"job_name": "alive", "honor_labels": True, "static_configs": targets}],
    }))  # fmt: skip


def test_figures_of_hosts_and_gpus_arrive_as_items(chain):
    """Found by Zabbix itself from what it was sent: whether each host answers, and temperatures."""
    names = ("node.up[n1]", "node.up[n4]", "node.temperature[n1]", "gpu.temperature[n1,0]")

    def values():
        items = chain.site.items(chain.host, "clusterwright.")
        wanted = [items.get(f"clusterwright.{name}") for name in names]
        return all(one and one["lastclock"] != "0" for one in wanted) and [
            float(one["lastvalue"]) for one in wanted
        ]

    assert chain.until(values) == [1, 1, 42.5, 61]


def test_a_hot_gpu_is_a_problem_there_until_it_has_cooled_down(chain):
    """With the words that a person reads, once for all repeats, a restart of ours among them."""
    chain.hosts[HEATS].says[HOT] = 93
    problem = chain.until(lambda: chain.problem("GpuTooHot", HEATS))
    item = chain.site.items(chain.host, "clusterwright.alert[GpuTooHot]")["clusterwright.alert[GpuTooHot]"]
    text = chain.site.history(item["itemid"])[0]["value"]
    chain.restart()
    body = {
        "status": "firing",
        "labels": {"alertname": "GpuTooHot"},
        "fingerprint": problem["tags"]["fingerprint"],
    }
    chain.until(lambda: tell(chain, body) == (200, ""))
    time.sleep(3)
    again = chain.problem("GpuTooHot", HEATS)
    chain.hosts[HEATS].says[HOT] = 61
    chain.until(lambda: chain.problem("GpuTooHot", HEATS) is None)

    assert problem["name"] == "GPU 0 of n3 has 93 °C"
    assert problem["severity"] == "4"
    assert problem["opdata"].startswith("See fans")
    assert problem["tags"]["incident"] == "node n3"
    assert text.startswith("PROBLEM\n")
    assert again["eventid"] == problem["eventid"]


def asked(chain, expression):
    """What Prometheus finds."""
    query = urllib.parse.urlencode({"query": expression})
    url = f"http://127.0.0.1:{chain.ports['prometheus']}/api/v1/query?{query}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.loads(answer.read())["data"]["result"]


def test_a_host_that_goes_away_is_a_problem_there(chain):
    """Its item says so as well, by a value map."""
    chain.until(lambda: chain.site.items(chain.host, "clusterwright.node.up[n2]"))
    chain.until(lambda: asked(chain, 'node:seen{node="n2"}'))  # one that never answered is not missed
    chain.leave()
    problem = chain.until(lambda: chain.problem("NodeDown", "n2"))
    chain.until(
        lambda: (
            chain.site.items(chain.host, "clusterwright.node.up")["clusterwright.node.up[n2]"]["lastvalue"]
            == "0"
        )
    )

    assert problem["name"] == "n2 does not respond"
    assert problem["severity"] == "4"


def test_what_cools_down_while_it_is_silenced_is_over_there_too(chain):
    """Alertmanager tells nobody of that; its silence is a real one."""
    chain.hosts[SILENCED].says[HOT] = 95
    chain.until(lambda: chain.problem("GpuTooHot", SILENCED))
    silence(chain, SILENCED)
    chain.hosts[SILENCED].says[HOT] = 60

    assert chain.until(lambda: chain.problem("GpuTooHot", SILENCED) is None)


def test_a_fault_while_zabbix_is_down_is_told_when_it_is_back(chain):
    """Alertmanager is given an error until then."""
    chain.site.server.close()
    chain.hosts[MISSED].says[HOT] = 91
    log = chain.folder / "notify.log"
    chain.until(lambda: "Connection refused" in log.read_text())
    chain.site.start()
    problem = chain.until(lambda: chain.problem("GpuTooHot", MISSED))

    assert problem["name"] == "GPU 0 of n5 has 91 °C"


def silence(chain, node):
    """For an hour."""
    now = datetime.now(UTC)
    body = {
        "matchers": [{"name": "node", "value": node, "isRegex": False, "isEqual": True}],
        "startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat(), "createdBy": "t", "comment": "t",
    }  # fmt: skip
    url = f"http://127.0.0.1:{chain.ports['alertmanager']}/api/v2/silences"
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert answer.status == 200


def receiver(chain, host, **reached):
    """Ours, without the program around it."""
    told = {"server": f"127.0.0.1:{chain.site.port}", "host": host, **reached}
    state = chain.folder / host
    state.mkdir(exist_ok=True)
    return ZabbixSite(
        NotifySettings("c", "control", "en", 0, "", {}, "", "/", zabbix={host: told}, state=str(state)), host
    )


def is_known(site):
    """Whether the server has learned of the host yet."""
    try:
        return site.send([("clusterwright.alive", "1")]) == (1, 0)
    except RefusedError:
        return False


def test_monitoring_that_is_silent_is_a_problem_there(chain):
    """Said by our program while it lives; Zabbix says so itself where nothing comes for five minutes."""
    host, ours = chain.site.host("quiet", "Clusterwright"), receiver(chain, "quiet")
    chain.until(lambda: is_known(ours))
    before = chain.site.problems(host)
    ours.send([("clusterwright.alive", "0")])
    problem = chain.until(lambda: chain.site.problems(host))[0]
    ours.send([("clusterwright.alive", "1")])

    assert before == []
    assert problem["name"] == "Clusterwright: monitoring of quiet is silent, and no alert can come"
    assert chain.until(lambda: chain.site.problems(host) == [])


def test_a_host_that_zabbix_lacks_is_named(chain):
    """By the real server's counts."""
    with pytest.raises(RefusedError) as caught:
        receiver(chain, "nobody").notify([{"status": "firing", "labels": {"alertname": "NodeDown"}}])

    assert "accepted 0 of 1 values" in str(caught.value)
    assert "create host `nobody`" in str(caught.value)


def test_another_address_than_the_macro_says_is_refused(chain):
    """Who may send is the template's macro, the control host's loopback at first."""
    host = chain.site.host(
        "closed", "Clusterwright", macros=[{"macro": "{$CLUSTERWRIGHT.SENDERS}", "value": "10.0.0.1"}]
    )
    ours = receiver(chain, "closed")
    assert not is_known(ours)

    macro = chain.site.ask("usermacro.get", hostids=host)[0]["hostmacroid"]
    chain.site.ask("usermacro.update", hostmacroid=macro, value="127.0.0.1")
    assert chain.until(lambda: is_known(ours))


def test_over_tls_with_the_clusters_certificate_and_no_other_way(chain):
    """Zabbix lets in who has it; we look at Zabbix's by the site's authority."""
    tls = chain.folder / "tls"
    chain.site.host("secret", "Clusterwright", tls_accept=4, tls_subject=f"CN=.{SCRAPE}")
    own = {"certificate": str(tls / f".{SCRAPE}.crt"), "key": str(tls / f".{SCRAPE}.key")}
    ours = receiver(chain, "secret", tls={"ca": str(tls / "site.crt"), **own})
    chain.until(lambda: is_known(ours))
    stranger = receiver(chain, "secret", tls={"ca": str(tls / "ca.crt"), **own})

    assert not is_known(receiver(chain, "secret"))
    with pytest.raises(RefusedError, match="certificate verify failed"):
        stranger.send([("clusterwright.alive", "1")])


def test_the_other_language_replaces_the_template_in_place(chain):
    """The same items, by their uuids; nothing is there twice, and history stays."""
    before = {key: row["itemid"] for key, row in chain.site.items(chain.host, "clusterwright.alert").items()}
    chain.site.take(zabbix_template("zh", "docs/reference/alerts"))
    after = chain.site.items(chain.host, "clusterwright.alert")
    chain.site.take(zabbix_template("en", "docs/reference/alerts"))

    assert {key: row["itemid"] for key, row in after.items()} == before
    assert after["clusterwright.alert[NodeDown]"]["name"] == "NodeDown: <node> 没有响应"
