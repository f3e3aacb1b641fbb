"""Slurm's accounts against the file's teams."""

from types import SimpleNamespace

import pytest

from clusterwright.check.checks.teams_as_declared import teams_as_declared
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.associations import Associations, associations
from clusterwright.check.verdict import Status

LAB = {"root": ("root",), "language": ("alice",), "vision": ("bob",)}


@pytest.fixture
def judge(cluster):
    """The verdict of the control host."""
    return lambda have: teams_as_declared.judge(HostSpec(cluster, cluster.control), have)


def test_all_teams_and_members_are_known(judge):
    """More than the file names is nobody's fault."""
    verdict = judge(Associations(LAB | {"physics": ("dave",)}))

    assert (verdict.status, verdict.observed) == (Status.OK, "teams: 2, users: 2")


@pytest.mark.parametrize(
    ("members", "saw"),
    [
        ({"root": ("root",), "language": ("alice",)}, "slurmdbd has no account vision"),
        (LAB | {"vision": ()}, "user bob is not in account vision"),
        (
            LAB | {"vision": ("alice",), "language": ("bob",)},
            "user alice is not in account language; user bob is not in account vision",
        ),
    ],
)
def test_what_is_missing_is_named(judge, members, saw):
    """A team that is missing is named once, not with each member."""
    verdict = judge(Associations(members))

    assert (verdict.status, verdict.observed) == (Status.FAIL, saw)


def test_other_shares_are_named(judge):
    """Somebody was generous by hand; the file is what counts."""
    verdict = judge(Associations(LAB, shares={"language": "40", "vision": "99"}))

    assert (verdict.status, verdict.observed) == (Status.FAIL, "account vision has 99 shares instead of 60")


def test_silence_names_the_host_and_its_logs(judge):
    """Quoted are sacctmgr's own words."""
    verdict = judge(Associations(error="sacctmgr: error: Sending PersistInit msg: Connection refused"))

    assert verdict.status is Status.FAIL
    assert "Connection refused" in verdict.observed
    assert verdict.fix == "read `journalctl -u slurmdbd -u mariadb` on control"


def test_only_the_control_host_is_asked_and_only_with_accounting(cluster):
    """Elsewhere the check concerns nobody."""
    off = cluster.model_copy(update={"accounting": cluster.accounting.model_copy(update={"enabled": False})})
    hosts = [HostSpec(cluster, host) for host in cluster.hosts()]

    assert [want.host.name for want in hosts if teams_as_declared.when(want)] == ["control"]
    assert not teams_as_declared.when(HostSpec(off, off.control))


def test_sacctmgr_is_asked_for_this_cluster_alone():
    """A database may hold others."""
    want = SimpleNamespace(cluster=SimpleNamespace(slurm_name="lab"))

    assert "cluster=lab " in " ".join(associations.argv(want))
