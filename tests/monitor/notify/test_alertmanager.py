"""Every kind of receiver, told by the real Alertmanager and our own program over real connections."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.onhost.notify.settings import AUTHORIZATION
from clusterwright.provision.render.monitoring.alertmanager import NOTIFY, SECRETS, alertmanager_conf
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles.notify import SETTINGS, notify

pytestmark = pytest.mark.skipif(
    not shutil.which("prometheus-alertmanager"), reason="prometheus-alertmanager is not installed"
)
ROOT = Path(__file__).parents[3]
KEY = "SEC-of-the-room"
KINDS = ("email", "webhook", "slack", "feishu", "dingtalk", "wecom")
FAULT = {
    "labels": {"alertname": "GpuTooHot", "severity": "critical", "component": "gpu", "incident": "node n1",
               "cluster": "lab", "node": "n1", "gpu": "0"},
    "annotations": {"summary": "GPU 0 of n1 has 93 °C", "description": "Too hot. <!channel> & <http://x|fix>",
                    "fix": "See fans."},
}  # fmt: skip


def free_port():
    """One that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port, limit_s=30):
    """Until somebody listens there."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")


@dataclass
class Monitoring:
    """The two programs as they run on a control host, and what came where."""

    alertmanager: int
    notify: int
    settings: dict
    inboxes: dict = field(default_factory=dict)

    def raise_(self, *alerts, **changes):
        """As Prometheus does."""
        rows = [{**FAULT, **one, **changes} for one in alerts or ({},)]
        post(f"http://127.0.0.1:{self.alertmanager}/api/v2/alerts", rows)


def post(url, body):
    """The answer's code."""
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=10) as answer:
        return answer.status


@contextmanager
def process(*argv, **env):
    """Runs as long as the block does."""
    running = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | env
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def cluster_of(folder, inboxes):
    """examples/lab with a receiver of each kind."""
    for kind in KINDS:
        text = f"http://127.0.0.1:{inboxes[kind].port}/hook/{kind}"
        if kind == "webhook":
            text = "token-of-ours"
        (folder / kind).write_text(f"{text}\n{KEY}\n" if kind in ("feishu", "dingtalk") else text)
    receivers = {kind: {"kind": kind, "secret_file": str(folder / kind)} for kind in KINDS}
    receivers["webhook"]["url"] = f"http://127.0.0.1:{inboxes['webhook'].port}/hook"
    receivers["email"] = {
        "kind": "email", "to": ["oncall@example.org"], "sender": "lab@example.org",
        "server": f"127.0.0.1:{inboxes['email'].port}", "tls": False,
    }  # fmt: skip
    section = {"prometheus": True, "receivers": receivers, "notify": list(KINDS), "language": "zh"}
    file = folder / "cluster.yaml"
    text = (ROOT / "examples" / "lab" / "cluster.yaml").read_text()
    file.write_text(text + f"\nmonitoring: {json.dumps(section)}\n")
    return load_cluster(file)


@pytest.fixture(scope="module")
def monitoring(tmp_path_factory, receiving):
    """Alertmanager and notify with what the roles render, on free ports and other folders."""
    folder = tmp_path_factory.mktemp("monitoring")
    with ExitStack() as stack:
        inboxes = {kind: stack.enter_context(receiving.http_receiver()) for kind in KINDS[1:]}
        inboxes["email"] = stack.enter_context(receiving.smtp_receiver())
        cluster = cluster_of(folder, inboxes)
        ports = free_port(), free_port()
        settings = json.loads(
            next(
                one for one in notify(cluster, cluster.control, RoleContext()) if one.id == f"file:{SETTINGS}"
            ).content
        ) | {
            "port": ports[1], "secrets": str(folder), "alertmanager": f"http://127.0.0.1:{ports[0]}", "data": "/",
            "heartbeat_timeout_s": 3, "every_s": 0.3, "least_free": 0,
        }  # fmt: skip
        (folder / "notify.json").write_text(json.dumps(settings))
        (folder / AUTHORIZATION).write_text("secret")
        conf = alertmanager_conf(cluster).replace(SECRETS, str(folder))
        conf = (
            conf.replace(NOTIFY, f"http://127.0.0.1:{ports[1]}")
            .replace('"15s"', '"3s"')
            .replace('"30s"', '"1s"')
        )
        (folder / "alertmanager.yml").write_text(conf)
        stack.enter_context(process(
            "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{ports[0]}", "--cluster.listen-address=",
        ))  # fmt: skip
        stack.enter_context(process(
            sys.executable, "-m", "clusterwright.onhost.notify", f"{folder}/notify.json", PYTHONPATH=str(ROOT / "src")
        ))  # fmt: skip
        for port in ports:
            wait_for(port)
        yield Monitoring(*ports, settings, inboxes)


@pytest.fixture(scope="module")
def told(monitoring):
    """What came to each after one fault."""
    monitoring.raise_()
    named = {kind: "n1" if kind == "email" else "node n1" for kind in KINDS}
    return {
        kind: inbox.until(lambda one, name=named[kind]: name in json.dumps(one, ensure_ascii=False))
        for kind, inbox in monitoring.inboxes.items()
    }


def signed(key, text):
    """Base64 of the HMAC with SHA-256, as both rooms want it."""
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


def test_a_letter_comes_by_mail(told):
    """With the summary as its subject, and the fix in it."""
    import email.policy

    letter = email.message_from_string(told["email"]["text"], policy=email.policy.default)

    assert letter["Subject"] == "[FIRING] lab: GPU 0 of n1 has 93 °C"
    assert "<oncall@example.org>" in told["email"]["to"][0]
    assert "See fans." in letter.get_body(("plain",)).get_content()


def test_a_program_of_the_sites_gets_alertmanagers_json_and_a_token(told):
    """The token comes from its file."""
    assert told["webhook"]["body"]["alerts"][0]["labels"]["gpu"] == "0"
    assert told["webhook"]["headers"]["Authorization"] == "Bearer token-of-ours"


def test_slack_is_told(told):
    """By its incoming webhook."""
    attachment = told["slack"]["body"]["attachments"][0]

    assert attachment["title"] == "[FIRING] lab: node n1"
    assert "GPU 0 of n1 has 93 °C" in attachment["text"]
    assert "Too hot. &lt;!channel&gt; &amp; &lt;http://x|fix&gt;" in attachment["text"]  # no mention, no link


def test_feishu_is_told_with_a_signature(told):
    """As its custom bot wants it: the key is the second and the secret, the text is empty."""
    body = told["feishu"]["body"]

    assert body["sign"] == signed(f"{body['timestamp']}\n{KEY}", "")
    assert abs(time.time() - int(body["timestamp"])) < 3600
    assert body["card"]["header"]["title"]["content"] == "Clusterwright lab: node n1 (触发 1)"
    assert "[严重] GPU 0 of n1 has 93 °C" in body["card"]["elements"][0]["text"]["content"]


def test_dingtalk_is_told_with_a_signature(told):
    """As its custom robot wants it: in the address, of the time in milliseconds and the secret."""
    query = told["dingtalk"]["query"]

    assert query["sign"] == [signed(KEY, f"{query['timestamp'][0]}\n{KEY}")]
    assert len(query["timestamp"][0]) == 13
    assert "See fans." in told["dingtalk"]["body"]["text"]["content"]


def test_wecom_is_told(told):
    """As text."""
    assert told["wecom"]["body"]["msgtype"] == "text"
    assert "GPU 0 of n1 has 93 °C" in told["wecom"]["body"]["text"]["content"]


@pytest.mark.parametrize(
    ("kind", "status", "answer"),
    [
        ("webhook", 500, {}), ("feishu", 200, {"code": 9499, "msg": "too many"}), ("wecom", 200, {"errcode": 45009}),
        ("dingtalk", 503, {}),
    ],
)  # fmt: skip
def test_a_room_that_does_not_take_it_is_told_again(monitoring, kind, status, answer):
    """Until it does; once, then."""
    inbox = monitoring.inboxes[kind]
    inbox.status, kept, inbox.answer = status, inbox.answer, answer
    name = f"down-{kind}"
    monitoring.raise_(labels={**FAULT["labels"], "incident": name})
    refused = inbox.until(lambda one: name in json.dumps(one))
    time.sleep(2)
    inbox.status, inbox.answer = 200, kept
    since = time.time()
    taken = inbox.until(lambda one: name in json.dumps(one) and one["at"] > since)
    time.sleep(4)
    after = [one for one in inbox.got if name in json.dumps(one) and one["at"] > since]

    assert refused
    assert taken
    assert len(after) == 1


def test_a_thousand_repeats_of_one_fault_are_one_page(monitoring):
    """And the faults of one host come together."""
    many = [
        {"labels": {**FAULT["labels"], "incident": "node n7", "node": "n7", "xid": str(each)}}
        for each in range(20)
    ]
    for _ in range(50):
        monitoring.raise_(*many)
    inbox = monitoring.inboxes["webhook"]
    found = inbox.until(lambda one: one["body"] and one["body"]["groupLabels"].get("incident") == "node n7")
    time.sleep(4)
    pages = [one for one in inbox.got if one["body"]["groupLabels"].get("incident") == "node n7"]

    assert len(found["body"]["alerts"]) == 20
    assert len(pages) == 1


def test_a_host_that_is_down_or_drained_mutes_what_lies_on_it(monitoring):
    """One page for the host that is down; none for the drained one; the job's own alert comes all the same."""

    def one(name, node, **more):
        labels = {"alertname": name, "severity": "critical", "component": "gpu", "incident": f"node {node}",
                  "cluster": "lab", "node": node} | more  # fmt: skip
        return {"labels": labels}

    monitoring.raise_(
        one("NodeDown", "n8", component="host"), one("GpuLost", "n8"), one("ExporterDown", "n8"),
        one("Drained", "n9", severity="none", component="slurm"), one("GpuLost", "n9"),
        {"labels": {"alertname": "JobLossNan", "severity": "critical", "component": "job", "incident": "run r9",
                    "cluster": "lab", "run": "r9"}},
    )  # fmt: skip
    inbox = monitoring.inboxes["webhook"]
    page = inbox.until(lambda one: one["body"]["groupLabels"].get("incident") == "node n8")
    job = inbox.until(lambda one: one["body"]["groupLabels"].get("incident") == "run r9")
    time.sleep(3)
    drained = [one for one in inbox.got if one["body"]["groupLabels"].get("incident") == "node n9"]

    assert [alert["labels"]["alertname"] for alert in page["body"]["alerts"]] == ["NodeDown"]
    assert job
    assert drained == []


def test_monitoring_that_falls_silent_says_so(monitoring):
    """No heartbeat for three beats: an alert that Prometheus did not raise; it is over when the heart beats again."""
    inbox = monitoring.inboxes["webhook"]
    silent = inbox.until(lambda one: "MonitoringSilent" in json.dumps(one))
    watchdog = {"alertname": "Watchdog", "severity": "none", "cluster": "lab", "incident": "monitoring"}
    monitoring.raise_(labels=watchdog)
    over = inbox.until(
        lambda one: "MonitoringSilent" in json.dumps(one) and '"resolved"' in json.dumps(one["body"])
    )

    assert "心跳" in json.dumps(silent["body"], ensure_ascii=False)
    assert over
