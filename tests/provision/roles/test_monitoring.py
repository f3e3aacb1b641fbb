"""Prometheus, Alertmanager and the program for chat rooms, as roles."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.edge.receivers import receiver_secrets
from clusterwright.errors import SpecError, WrightError
from clusterwright.provision.render.monitoring.alertmanager import alertmanager_conf
from clusterwright.provision.render.tree import tree
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles import desired_resources

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
SECRET = "https://open.feishu.example/hook/0123-secret"
ROOM = {"kind": "feishu", "secret_file": "/root/room"}
MAIL = {"kind": "email", "to": ["a@example.org"], "sender": "b@example.org", "server": "smtp.example.org:587"}


@pytest.fixture
def with_monitoring(tmp_path):
    """The lab's file with this section, and another `os`."""

    def make(section, os="debian-12"):
        text = LAB.read_text().replace("os: debian-12", f"os: {os}")
        if os != "debian-12":
            text = text.partition("\n# This section makes it the file of a lab")[0]
        file = tmp_path / "cluster.yaml"
        file.write_text(f"{text}\nmonitoring: {json.dumps(section)}\n")
        return load_cluster(file)

    return make


def refused(with_monitoring, section, **more):
    """What was said against it."""
    with pytest.raises(SpecError) as caught:
        with_monitoring(section, **more)
    return str(caught.value)


def resources(cluster, host, **secrets):
    """All that the host must have, by id."""
    given = RoleContext({"munge.key": b"", **secrets})
    return {one.id: one for one in desired_resources(cluster, cluster.host(host), given)}


def test_secrets_are_in_no_rendered_file(with_monitoring):
    """A file for Alertmanager's user alone has them; a render has their name."""
    cluster = with_monitoring({"prometheus": True, "receivers": {"room": ROOM}, "notify": ["room"]})
    given = RoleContext({"munge.key": b"", "receivers/room": SECRET.encode()})
    texts = tree(cluster, given)["control"]
    file = resources(cluster, "control", **{"receivers/room": SECRET.encode()})[
        "file:/etc/clusterwright/receivers/room"
    ]

    assert not [path for path, text in texts.items() if SECRET in text]
    assert texts["/etc/clusterwright/receivers/room"] == "<secret receivers/room>\n"
    assert (file.content, file.mode, file.owner) == (SECRET.encode(), 0o400, "prometheus")


def test_everything_of_it_is_on_the_control_host_and_on_loopback(with_monitoring):
    """No other host has a unit of it, and no port is opened for it."""
    cluster = with_monitoring({"prometheus": True})
    units = {
        "unit:prometheus.service",
        "unit:prometheus-alertmanager.service",
        "unit:clusterwright-notify.service",
    }
    control = resources(cluster, "control")

    assert units <= set(control)
    assert not units & set(resources(cluster, "gpu-node1"))
    assert "--web.listen-address=127.0.0.1:9090" in control["file:/etc/default/prometheus"].content
    assert "--rules.alert.resend-delay=15s" in control["file:/etc/default/prometheus"].content
    assert '--cluster.listen-address="' in control["file:/etc/default/prometheus-alertmanager"].content
    assert not [
        port
        for port in ("9090", "9093", "9098")
        if port in control["file:/etc/clusterwright/firewall.nft"].content
    ]


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (prometheus)")
def test_prometheus_and_alertmanager_take_their_files(with_monitoring, tmp_path):
    """By promtool's and amtool's word, with a receiver of each kind."""
    kinds = {
        "m": MAIL,
        "w": {"kind": "webhook", "url": "http://a.example/hook", "secret_file": "/root/token"},
    }
    kinds |= {
        kind: {"kind": kind, "secret_file": f"/root/{kind}"}
        for kind in ("slack", "feishu", "dingtalk", "wecom")
    }
    cluster = with_monitoring({"prometheus": True, "receivers": kinds, "notify": list(kinds)})
    found = resources(cluster, "control")
    for name in ("prometheus.yml", "alertmanager.yml"):
        (tmp_path / name).write_text(found[f"file:/etc/prometheus/{name}"].content)
    checks = [
        ["promtool", "check", "config", "--syntax-only", tmp_path / "prometheus.yml"],
        ["amtool", "check-config", tmp_path / "alertmanager.yml"],
    ]

    for words in checks:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_only_who_is_named_is_told_and_from_their_severity_on(with_monitoring):
    """A page to one, all to another."""
    receivers = {"a": MAIL | {"severity": "critical"}, "b": MAIL | {"severity": "info"}, "c": MAIL}
    cluster = with_monitoring({"prometheus": True, "receivers": receivers, "notify": ["a", "b"]})
    routes = json.loads(alertmanager_conf(cluster))["route"]["routes"]

    assert [(one["receiver"], one["matchers"]) for one in routes if one["receiver"].startswith("to ")] == [
        ("to a", ['severity=~"critical"']), ("to b", ['severity=~"info|warning|critical"']),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("section", "os", "code"),
    [
        ({"prometheus": True, "receivers": {"room": ROOM}, "notify": ["rom"]}, "debian-12", "unknown-receiver"),
        ({"receivers": {"room": ROOM}, "notify": ["room"]}, "debian-12", "nobody-notified"),
        ({"prometheus": True, "receivers": {"m": MAIL | {"user": "u"}}}, "debian-12", "receiver-mail-login"),
        ({"prometheus": True, "receivers": {"m": MAIL | {"user": "u", "secret_file": "/root/m"}}}, "ubuntu-22.04",
         "receiver-mail-login"),
        ({"prometheus": True}, "rocky-9", "prometheus-no-package"),
        ({"prometheus": True}, "ubuntu-20.04", "prometheus-no-package"),
        ({"prometheus": True, "receivers": {"m": MAIL | {"to": ["nobody"]}}}, "debian-12", "bad-address"),
        ({"prometheus": True, "receivers": {"m": MAIL | {"server": "smtp"}}}, "debian-12", "bad-address"),
        ({"receivers": {"w": {"kind": "webhook", "url": "ftp://a"}}}, "debian-12", "bad-address"),
        ({"receivers": {"w": {"kind": "pager"}}}, "debian-12", "not-a-choice"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(with_monitoring, section, os, code):
    """With its code, before anything is done."""
    said = refused(with_monitoring, section, os=os)

    assert f"[{code}]" in said


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (SECRET, 0o644, "other users can read it"), ("", 0o600, "is empty"), ("hook/0123", 0o600, "not an HTTP URL"),
        (None, 0o600, "No such file"), ("x" * 9000, 0o600, "bytes"),
    ],
)  # fmt: skip
def test_a_secret_that_is_none_is_named_and_not_shown(tmp_path, text, mode, said):
    """The file, and the fix; never what is in it."""
    path = tmp_path / "room"
    if text is not None:
        path.write_text(text)
        path.chmod(mode)

    with pytest.raises(WrightError, match="receiver-secret") as caught:
        receiver_secrets({"room": (str(path), True)})

    assert said in str(caught.value)
    assert "0123" not in str(caught.value)


def test_an_address_and_a_key_are_read(tmp_path):
    """Two lines, without what an editor leaves behind."""
    path = tmp_path / "room"
    path.write_text(f"{SECRET}\n\nSEC1 \n")
    path.chmod(0o600)

    assert receiver_secrets({"room": (str(path), True)}) == {"receivers/room": f"{SECRET}\nSEC1".encode()}
