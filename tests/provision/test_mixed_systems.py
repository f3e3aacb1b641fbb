"""Clusters whose node groups run several operating systems."""

from pathlib import Path

import pytest

from clusterwright.check.judging import judge
from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.provision.export.export import export
from clusterwright.provision.package_bundle.gather import gather
from clusterwright.provision.package_bundle.requirements import context_without_secrets
from clusterwright.provision.render.tree import tree
from clusterwright.provision.roles import desired_resources

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\\n\\nAAAA\\n-----END PGP PUBLIC KEY BLOCK-----\\n"
TEXT = f"""name: mixed
os: ubuntu-24.04
networks:
  management: {{subnet: 10.77.0.0/24, rate: 1Gbit/s}}
nodes:
  head: {{role: control, hosts: head, addresses: {{management: 10.77.0.10}}, cpus: {{cores_per_socket: 4}},
    memory: 8GiB}}
  old: {{role: compute, hosts: "u[1-2]", addresses: {{management: 10.77.0.11}}, cpus: {{cores_per_socket: 4}},
    memory: 8GiB}}
  new: {{role: compute, os: rocky-9, hosts: "r[1-2]", addresses: {{management: 10.77.0.21}},
    cpus: {{cores_per_socket: 4}}, memory: 8GiB}}
storage: {{shared: {{kind: nfs, path: /shared, server: nas.example.org, export: /shared}}}}
partitions: {{train: {{nodes: [old, new], default: true}}}}
software:
  slurm: "24.11"
  slurm_packages: schedmd
  repositories:
    slurm-deb: {{os: [ubuntu-24.04], url: "https://packages.example.org/deb", key: "{KEY}"}}
    slurm-rpm: {{os: [rocky-9], url: "https://packages.example.org/rpm", key: "{KEY}"}}
"""


def load(tmp_path, *changes):
    """The cluster of TEXT with these replacements."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "cluster.yaml").write_text(text)
    return load_cluster(tmp_path / "cluster.yaml")


@pytest.fixture
def mixed(tmp_path):
    """Two hosts with Ubuntu and two with Rocky Linux."""
    return load(tmp_path)


def test_each_host_gets_files_of_its_operating_system(mixed):
    """Repositories, environment files and packages follow the host; slurm.conf is the same file everywhere."""
    context = context_without_secrets()
    texts = tree(mixed, context)
    packages = {
        host: {
            one.name
            for one in desired_resources(mixed, mixed.host(host), context)
            if one.id.startswith("package:")
        }
        for host in ("u1", "r1")
    }

    ubuntu = {"/etc/apt/sources.list.d/clusterwright-slurm-deb.sources", "/etc/chrony/chrony.conf"}
    rocky = {
        "/etc/yum.repos.d/clusterwright-slurm-rpm.repo",
        "/etc/chrony.conf",
        "/etc/firewalld/firewalld.conf",
    }

    for host in ("head", "u1", "u2"):
        assert (ubuntu | rocky) & set(texts[host]) == ubuntu, host
    for host in ("r1", "r2"):
        assert (ubuntu | rocky) & set(texts[host]) == rocky, host
    assert ("slurm-smd-slurmd" in packages["u1"], "slurm-slurmd" in packages["r1"]) == (True, True)
    assert (
        len({files["/etc/slurm/slurm.conf"] for files in texts.values() if "/etc/slurm/slurm.conf" in files})
        == 1
    )


def test_checks_expect_the_operating_system_of_the_group(mixed):
    """A host that runs the release of the other group is reported."""
    from clusterwright.check.checks.os_as_declared import os_as_declared
    from clusterwright.check.fact import HostSpec

    r1 = mixed.host("r1")
    spec = HostSpec(mixed.on(r1), r1)
    assert spec.cluster.os == "rocky-9"
    assert os_as_declared.judge(spec, "rocky-9").status != os_as_declared.judge(spec, "ubuntu-24.04").status


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("{os: [rocky-9], url", "{url", "repository-os", "software.repositories.slurm-rpm"),
        ("os: [rocky-9], url", "os: [rocky-8], url", "slurm-no-package", "nodes.new.os"),
        ("os: rocky-9, hosts", "os: rocky-90, hosts", "not-a-choice", "nodes.new.os"),
        ("partitions:", "lab: {}\npartitions:", "lab-unsupported", "nodes.new.os"),
    ],
)
def test_rules_name_the_field_of_the_group(tmp_path, old, new, code, place):
    """What one of the systems lacks is found, with the place of its `os`."""
    with pytest.raises(WrightError) as error:
        load(tmp_path, (old, new))
    found = [(one.code, [where.path for where in one.places]) for one in error.value.findings]
    assert any(one == code and place in places for one, places in found), found


def test_a_result_for_one_system_is_refused(mixed, tmp_path):
    """A package bundle and a playbook have one package manager; a plain export has files only."""
    context = context_without_secrets()
    with pytest.raises(WrightError, match=r"ubuntu-24\.04"):
        gather(mixed, Path(tmp_path / "bundle.tar"))
    with pytest.raises(WrightError, match="rocky-9"):
        export(mixed, context, ansible=True)
    assert export(mixed, context)


def test_one_operating_system_is_the_same_cluster(tmp_path):
    """A group that names the cluster's own `os` changes nothing."""
    cluster = load(tmp_path, ("os: rocky-9, hosts", "os: ubuntu-24.04, hosts"), ("os: [rocky-9], ", ""))
    assert cluster.on(cluster.host("r1")) is cluster
    assert [loc for _cluster, loc in cluster.systems()] == [("os",)]
    assert judge(cluster, (), {}) == []
