"""Kernel settings of compute hosts: ours with their reasons, and a site's own in place of them."""

import pytest

from clusterwright.config.load import load_cluster, validate
from clusterwright.provision.roles import desired_resources

FILE = "file:/etc/sysctl.d/60-clusterwright.conf"
GUIDE = {
    "vm.swappiness": 10,
    "net.core.rmem_max": 134217728,
    "net.core.wmem_max": 134217728,
    "net.ipv4.tcp_rmem": "4096 87380 134217728",
    "net.ipv4.tcp_wmem": "4096 87380 134217728",
}


def _settings(cluster, given, host):
    found = {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}
    running = {
        key.removeprefix("sysctl:"): row.value for key, row in found.items() if key.startswith("sysctl:")
    }
    return running, found[FILE].content


def test_the_values_of_a_guide_replace_ours_in_the_kernel_and_in_the_file(altered, given):
    """Numbers or text, each once; the reason tells where the value is from."""
    running, content = _settings(altered({"system.sysctl": GUIDE}), given, "gpu-node1")

    for key, value in GUIDE.items():
        assert running[key] == str(value)
        assert content.count(f"-{key} = ") == 1
        assert f"# Set in system.sysctl of the cluster file.\n-{key} = {value}\n" in content
    assert running["net.core.somaxconn"] == "4096"


def test_a_setting_that_we_do_not_have_is_added(altered, given):
    """After ours, on compute hosts only."""
    cluster = altered(
        {"system.sysctl": {"net.ipv4.tcp_congestion_control": "bbr", "vm.min_free_kbytes": 1048576}}
    )

    running, content = _settings(cluster, given, "gpu-node1")
    assert running["net.ipv4.tcp_congestion_control"] == "bbr"
    assert content.rstrip().endswith("-vm.min_free_kbytes = 1048576")
    assert "vm.min_free_kbytes" not in _settings(cluster, given, "control")[0]


def test_without_the_field_nothing_changes(cluster, altered, given):
    """64 MiB, and an empty section."""
    running, content = _settings(cluster, given, "gpu-node1")

    assert running["net.core.rmem_max"] == str(64 * 2**20)
    assert _settings(altered({"system.sysctl": {}}), given, "gpu-node1") == (running, content)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("rmem_max", "1", "bad-name"),
        ("net/core/rmem_max", "1", "bad-name"),
        ("net.core.rmem_max = 1\nkernel.x", "1", "bad-name"),
        ("kernel.hostname", "x", "reserved-name"),
        ("net.ipv4.ip_local_reserved_ports", "1-2", "reserved-name"),
        ("net.core.rmem_max", "1\nkernel.core_pattern = |/tmp/x", "bad-name"),
        ("kernel.core_pattern", "|/tmp/x", "bad-name"),
        ("net.core.rmem_max", "", "bad-name"),
        ("net.core.rmem_max", "128 MB; reboot", "bad-name"),
        ("net.core.rmem_max", True, "wrong-type"),
        ("net.core.rmem_max", [1], "wrong-type"),
    ],
)
def test_what_is_no_setting_is_refused_at_its_line(name, value, code, altered, tmp_path):
    """No line break, no program, no setting that another field owns."""
    altered({"name": "x"})
    from ruamel.yaml import YAML

    yaml, file = YAML(), tmp_path / "bad.yaml"
    document = yaml.load(next(tmp_path.glob("*.yaml")))
    document["system"] = {"sysctl": {name: value}}
    yaml.dump(document, file)

    findings = validate(file)
    assert [finding.code for finding in findings] == [code]
    assert "sysctl" in str(findings[0])


def test_the_example_of_the_field_is_valid(tmp_path, altered):
    """As documented: a number, as YAML reads it."""
    assert altered({"system.sysctl": {"net.core.rmem_max": 134217728}}).system.sysctl == {
        "net.core.rmem_max": "134217728"
    }
    assert load_cluster(next(tmp_path.glob("*.yaml"))).system.sysctl
