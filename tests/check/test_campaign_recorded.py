"""Faults that no lab can have, in the tools' recorded words: each is found on its host, by its own check alone.

The faults are data: `campaign/recorded.toml`.
"""

import tomllib
from pathlib import Path

import pytest

from clusterwright.check.judging import judge
from clusterwright.check.reading import HostReach, Reading
from clusterwright.check.registry import all_checks, all_facts
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FACTS = {each.id: each for each in all_facts()}
FAULTS = tomllib.loads((HERE / "campaign/recorded.toml").read_text())
GREEN = (Status.OK, Status.SKIPPED)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Eight hosts of metal with disks, NVSwitches, users and a quota on what they share."""
    text = (ROOT / "examples/hgx/cluster.yaml").read_text()
    path = tmp_path_factory.mktemp("recorded") / "cluster.yaml"
    path.write_text(text)
    return load_cluster(path)


def said(row, case):
    """What the tool's recorded words come to."""
    return FACTS[row["fact"]].parse((HERE / "facts" / row["fact"] / f"{case}.txt").read_text())


def judged(cluster, row, case):
    """What is not green when one host says `case` and all others are sound, by every check of that fact."""
    hosts = [host.name for host in cluster.hosts()]
    struck = row.get("host") or cluster.hosts("compute")[1].name
    readings = {
        host: Reading(HostReach(), {row["fact"]: said(row, case if host == struck else row["sound"])})
        for host in hosts
    }
    checks = [each for each in all_checks() if [fact.id for fact in each.needs] == [row["fact"]]]
    return struck, [v for v in judge(cluster, checks, readings) if v.status not in GREEN]


@pytest.mark.parametrize("name", FAULTS)
def test_a_recorded_fault_is_found_under_its_own_name(cluster, name):
    """Host, part and severity are right, the fix is named, no other check or host is told of; fixed, all is green."""
    row = FAULTS[name]

    struck, found = judged(cluster, row, row["broken"])
    _, before = judged(cluster, row, row["sound"])
    where = (row["check"], struck, row.get("part", ""), Status(row.get("status", "fail")))
    named = [v for v in found if (v.check, v.subject, v.part, v.status) == where]

    assert before == []
    assert named, found
    assert row.get("fix", "") in named[0].fix
    assert {(v.check, v.subject) for v in found} == {(row["check"], struck)}
