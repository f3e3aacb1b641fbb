"""`manage`: only the roles that the cluster file lists are applied, rendered and exported."""

import json
import zlib

import pytest

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.apply import apply
from clusterwright.provision.export.steps import steps
from clusterwright.provision.render.tree import tree
from clusterwright.provision.roles import declared_resources, managed_roles, roles

FACTS = {"interrupted": False, "job_steps": 0, "reached_at": ""}


def orders(cluster, tmp_path, monkeypatch):
    """What the agents of all hosts are given by an apply."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    given, answer = [], {"facts": FACTS, "changes": [], "notes": [], "error": "", "stale": False, "sum": "x"}

    def asked(host, _command, stdin):
        length, separator, rest = stdin.partition(b"\n")
        if separator and length.isdigit():
            given.append((host, json.loads(zlib.decompress(rest[int(length) :]).decode())))
        return f"{ANSWER}{json.dumps(answer)}\n"

    apply(cluster, "cluster.yaml", FakeRemote(asked), clock=FakeClock())
    return given


def test_all_roles_are_managed_unless_the_file_lists_some(cluster, altered):
    """Not set: all; a name that stands for several; a role of its own; none."""
    assert list(managed_roles(cluster)) == list(roles())
    assert set(managed_roles(altered({"manage": ["monitoring", "check"]}))) >= {"exporter", "prometheus"}
    assert "slurm" not in managed_roles(altered({"manage": ["monitoring"]}))
    assert list(managed_roles(altered({"manage": ["slurm"]}))) == ["slurm"]
    assert managed_roles(altered({"manage": []})) == {}


def test_without_a_managed_role_no_host_gets_anything(altered, given, tmp_path, monkeypatch):
    """Every host is asked for no resource, and told to remove nothing; no key is searched or stored."""
    cluster = altered({"manage": []})

    asked = orders(cluster, tmp_path, monkeypatch)

    assert {host for host, _order in asked} == {host.name for host in cluster.hosts()}
    assert all(order["resources"] == [] and order["removes"] is False for _host, order in asked)
    assert not list((tmp_path / "state").rglob("munge.key"))
    assert steps(cluster, given) == ()
    assert set().union(*tree(cluster, given).values()) == set()


def test_a_managed_role_has_its_resources_only(altered, given):
    """Monitoring has no file of Slurm and no package of another role."""
    cluster = altered({"manage": ["monitoring"]})

    declared = declared_resources(cluster, cluster.control, given)

    assert declared
    assert {role for _resource, role in declared.values()} <= set(managed_roles(cluster))
    assert not [name for name in declared if name.startswith("file:/etc/slurm")]


def test_a_role_that_does_not_exist_is_refused(altered, given):
    """A misspelled role would otherwise never be applied."""
    cluster = altered({"manage": ["slurmm"]})

    with pytest.raises(WrightError) as error:
        declared_resources(cluster, cluster.control, given)

    assert error.value.findings[0].code == "unknown-role"
