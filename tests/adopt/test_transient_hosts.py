"""Nodes that come and go (State=CLOUD, FUTURE, EXTERNAL): adopted as such, and no command logs in to them."""

import json

import pytest

from clusterwright.adopt.site import describe
from clusterwright.config.slurm_rules import Source
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.apply import apply

CONF = """ClusterName=c
SlurmctldHost=ctl
NodeName=g[1-2] CPUs=8
NodeName=cloud[1-8] CPUs=8 State={state}
PartitionName=p Nodes=ALL Default=YES
"""
ANSWERED = {
    "facts": {"interrupted": False, "job_steps": 0, "reached_at": ""},
    "changes": [],
    "notes": [],
    "error": "",
    "stale": False,
    "sum": "x",
}


def contacted(cluster, tmp_path, monkeypatch):
    """The hosts that an apply logs in to, and its report."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hosts = set()

    def answer(host, _command, _stdin):
        hosts.add(host)
        return f"{ANSWER}{json.dumps(ANSWERED)}\n"

    return hosts, apply(cluster, "cluster.yaml", FakeRemote(answer), clock=FakeClock())


@pytest.mark.parametrize("state", ["CLOUD", "FUTURE", "EXTERNAL", "cloud"])
def test_nodes_that_come_and_go_are_adopted_and_not_contacted(state, tmp_path, monkeypatch):
    """The node line keeps its state; the report has a note, no error and nothing pending."""
    site = describe([Source("slurm.conf", "slurm.conf", CONF.format(state=state))], "24.05.3", "x")

    hosts, report = contacted(site.cluster, tmp_path, monkeypatch)

    assert site.differences == ()
    assert site.cluster.nodes["cloud"].options["State"] == state
    assert hosts == {"ctl", "g1", "g2"}
    assert report.ok
    assert not report.left_out
    assert ("cloud[1-8]" in report.notes()[0][1], len(report.notes())) == (True, 1)
