"""Grafana's files on the control host."""

import json

import pytest
from ruamel.yaml import YAML

from clusterwright.errors import WrightError
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.grafana import FIRST_LOGIN, FOLDER, HOME

SOURCE = "file:/etc/apt/sources.list.d/clusterwright-grafana.sources"
REPOSITORY = {"grafana": {"url": "https://apt.example.org", "suite": "stable", "unsigned": True}}
ON = {
    "monitoring.prometheus": True,
    "monitoring.grafana": True,
    "software.repositories": REPOSITORY,
}


def found(cluster, host, given):
    """The resources of a host, by id."""
    return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}


def test_the_control_host_has_what_grafana_reads(altered, given):
    """Prometheus as its source, a provider of our folder, every page in it, and nothing of it elsewhere."""
    cluster = altered(ON)
    on = found(cluster, "control", given)

    provisioning = "file:/etc/grafana/provisioning"
    source = YAML(typ="safe").load(on[f"{provisioning}/datasources/clusterwright.yaml"].content)
    assert source["datasources"][0]["url"] == "http://127.0.0.1:9090"
    provider = YAML(typ="safe").load(on[f"{provisioning}/dashboards/clusterwright.yaml"].content)
    assert provider["providers"][0]["options"] == {"path": FOLDER}
    pages = [json.loads(each.content) for name, each in on.items() if name.startswith(f"file:{FOLDER}/")]
    assert len({page["uid"] for page in pages}) == 9
    assert f"file:{HOME}" in on
    elsewhere = found(cluster, "gpu-node1", given)
    assert not {name for name in on if "/grafana" in name or "grafana-" in name} & elsewhere.keys() - {SOURCE}


def test_it_listens_on_loopback_with_a_password_of_its_own(altered, given):
    """Which only Grafana may read, and no render shows."""
    on = found(altered(ON), "control", given)
    text = on["file:/etc/systemd/system/grafana-server.service.d/clusterwright.conf"].content
    assert "Environment=GF_SERVER_HTTP_ADDR=127.0.0.1\n" in text
    assert f"GF_SECURITY_ADMIN_PASSWORD__FILE={FIRST_LOGIN}\n" in text
    password = on[f"file:{FIRST_LOGIN}"]
    assert (password.mode, password.group, password.secret) == (0o640, "grafana", "grafana.password")


def test_a_page_that_changes_restarts_nothing(altered, given):
    """Grafana reads its folder again by itself."""
    unit = found(altered(ON), "control", given)["unit:grafana-server.service"]
    assert not [name for name in unit.restart_on if FOLDER in name]
    assert f"file:{FIRST_LOGIN}" in unit.restart_on


def test_without_a_repository_that_has_it_the_file_is_refused(altered):
    """No distribution has it."""
    with pytest.raises(WrightError) as refused:
        altered(ON | {"software.repositories": {}})
    assert "no package of Grafana" in str(refused.value)
