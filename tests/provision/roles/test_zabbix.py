"""A Zabbix among the receivers: what is put on the control host, and what is refused in the cluster file."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from clusterwright.catalog.watch.figure import figures
from clusterwright.config.load import load_cluster
from clusterwright.errors import SpecError
from clusterwright.onhost.notify.settings import NotifySettings, read
from clusterwright.provision.render.monitoring.alertmanager import alertmanager_conf
from clusterwright.provision.render.monitoring.zabbix import SENDERS
from clusterwright.provision.render.tree import tree
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles.alertmanager import secret_files
from clusterwright.provision.roles.certificates import SCRAPE
from clusterwright.provision.roles.notify import SETTINGS, TEMPLATE

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
ZABBIX = {"kind": "zabbix", "server": "10.0.0.9:10051"}


@pytest.fixture
def cluster_with(tmp_path):
    """The lab's file, told to a Zabbix that is described so."""

    def make(receiver, **more):
        section = {
            "prometheus": True,
            "receivers": {"site": {**ZABBIX, **receiver}},
            "notify": ["site"],
            **more,
        }
        file = tmp_path / "cluster.yaml"
        file.write_text(f"{LAB.read_text()}\nmonitoring: {json.dumps(section)}\n")
        return load_cluster(file)

    return make


def files(cluster):
    """Of the control host, by path."""
    return tree(cluster, RoleContext({"munge.key": b""}))["control"]


def test_the_program_is_told_where_zabbix_is_and_what_its_template_knows(cluster_with, tmp_path):
    """As the program itself reads it; the host there is called as the cluster is."""
    text = files(cluster_with({}))[SETTINGS]
    (tmp_path / "notify.json").write_text(text)
    told = read(str(tmp_path / "notify.json"))

    assert set(json.loads(text)) <= set(NotifySettings.__dataclass_fields__)
    assert told.zabbix == {"site": {"server": "10.0.0.9:10051", "host": "lab"}}
    assert {"NodeDown", "GpuTooHot"} <= set(told.alerts)
    assert "Watchdog" not in told.alerts
    assert [one["key"] for one in told.figures] == [one.key for one in figures()]
    assert told.channels == {}


def test_alertmanager_tells_it_by_our_program(cluster_with):
    """It does not speak to Zabbix itself; and no secret is asked for."""
    cluster = cluster_with({"severity": "info"})
    receivers = {one["name"]: one for one in json.loads(alertmanager_conf(cluster))["receivers"]}

    assert receivers["to site"]["webhook_configs"][0]["url"] == "http://127.0.0.1:9098/to/site"
    assert secret_files(cluster) == {}


def test_over_tls_it_is_known_by_the_clusters_certificate(cluster_with):
    """Prometheus's own, which the program may read."""
    found = files(
        cluster_with({"tls": "/etc/zabbix/ca.crt", "host": "gpu cluster", "server": "9.9.9.9:10051"})
    )
    unit = found["/etc/systemd/system/clusterwright-notify.service"]

    assert json.loads(found[SETTINGS])["zabbix"]["site"] == {
        "server": "9.9.9.9:10051", "host": "gpu cluster",
        "tls": {
            "ca": "/etc/zabbix/ca.crt", "certificate": "/etc/clusterwright/tls/scrape.crt",
            "key": "/etc/clusterwright/tls/scrape.key",
        },
    }  # fmt: skip
    assert "SupplementaryGroups=clusterwright-tls\n" in unit
    assert "StateDirectory=clusterwright/notify\n" in unit


@pytest.mark.parametrize(("language", "word"), [("en", "does not respond"), ("zh", "没有响应")])
def test_the_template_lies_on_the_control_host_in_the_clusters_language(cluster_with, language, word):
    """And `wright render` writes it."""
    template = files(cluster_with({}, language=language))[TEMPLATE]

    assert json.loads(template)["zabbix_export"]["version"] == "6.0"
    assert word in template


def test_where_no_zabbix_is_told_nothing_of_it_is_there(cluster_with):
    """No template, and no word in the program's settings."""
    found = files(cluster_with({}, notify=[]))

    assert TEMPLATE not in found
    assert "zabbix" not in found[SETTINGS]


@pytest.mark.parametrize(
    ("receiver", "code", "said"),
    [
        ({"server": "zabbix.example.org"}, "bad-address", "write the Zabbix server as zabbix.example.org:10051"),
        ({"server": "zabbix.example.org:99999"}, "bad-address", "`zabbix.example.org:99999`"),
        ({"server": "http://zabbix.example.org:80"}, "bad-address", "port of its trapper"),
        ({"server": "9.9.9.9:10051"}, "bad-address", "unencrypted"),
        ({"host": "a/b"}, "bad-name", "`a/b` is not a Zabbix host name"),
        ({"host": " a"}, "bad-name", "not a Zabbix host name"), ({"host": "x" * 129}, "bad-name", "at most 128"),
        ({"secret_file": "/root/x"}, "unknown-key", "secret_file"),
    ],
)  # fmt: skip
def test_a_zabbix_that_cannot_be_is_refused(cluster_with, receiver, code, said):
    """With the line, and how it is written."""
    with pytest.raises(SpecError) as caught:
        cluster_with(receiver)

    assert code in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("guide", ["zabbix.md", "zabbix.zh-CN.md"])
def test_what_the_guide_says_to_write_is_taken(tmp_path, guide):
    """And the host, the file and the macro that it names are those of what is then rendered."""
    text = (LAB.parents[2] / "docs" / "guides" / guide).read_text()
    section = dedent(text.partition("```yaml\n")[2].partition("```")[0])
    (tmp_path / "cluster.yaml").write_text(f"{LAB.read_text()}\n{section}")
    found = files(load_cluster(tmp_path / "cluster.yaml"))

    assert json.loads(found[SETTINGS])["zabbix"]["zabbix"]["host"] == "gpu-cluster"
    assert f"control:{TEMPLATE}" in text
    assert f"`{SENDERS}`" in text
    assert f"`CN=.{SCRAPE}`" in text
    for one in figures():
        assert f"`{one.key}[" in text
