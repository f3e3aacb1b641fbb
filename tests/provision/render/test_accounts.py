"""The file's teams, users and qualities of service as rows of Slurm's accounting."""

import pytest

from clusterwright.provision.render.accounts import account_rows, headroom_gpus, qos_names
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.slurm_nodes import GPU_BILLED

TEAMS = {
    "speech": {"gid": 5003, "parent": "research", "max_gpus": 8, "max_gpus_per_user": 2, "max_jobs": 9},
    "research": {"gid": 5002, "shares": 0},
    "vision": {"gid": 5000, "shares": 60},
}
USERS = {
    "alice": {"uid": 6001, "team": "vision", "admin": True, "additional_teams": ["speech"]},
    "bob": {"uid": 6002, "team": "research"},
    "carol": {"uid": 6003, "team": "speech"},
}


@pytest.fixture
def rows(altered):
    """By kind and name; a member's also by team."""

    def made(changes):
        found = account_rows(altered({"teams": TEAMS, "users": USERS} | changes))
        return {
            (row["kind"], row["name"], *([row["account"]] if "account" in row else [])): row for row in found
        }

    return made


def test_a_parent_comes_before_its_parts(rows):
    """Whatever the order of the file."""
    teams = [key[1] for key in rows({}) if key[0] == "account"]

    assert teams.index("research") < teams.index("speech")


def test_limits_of_a_team_are_its_accounts(rows):
    """All jobs together, each member's together, running jobs; shares may be 0."""
    found = rows({})

    assert found["account", "speech"] == {
        "kind": "account", "name": "speech", "Parent": "research", "Fairshare": "1",
        "GrpTRES gres/gpu": "8", "GrpJobs": "9", "QOS": "normal", "DefaultQOS": "normal",
    }  # fmt: skip
    assert found["user", "carol", "speech"]["GrpTRES gres/gpu"] == "2"
    assert (found["account", "research"]["Fairshare"], found["account", "vision"]["GrpTRES gres/gpu"]) == (
        "0",
        "",
    )


def test_a_user_is_in_every_team_and_has_one_by_default(rows):
    """An admin of the hosts is one of Slurm's."""
    found = rows({})

    assert ("user", "alice", "vision") in found
    assert ("user", "alice", "speech") in found
    assert (found["person", "alice"]["DefaultAccount"], found["person", "alice"]["AdminLevel"]) == (
        "vision",
        "Administrator",
    )


def test_qualities_of_service_are_for_their_teams(rows):
    """Those without teams are for all; `normal` stays, unless the file keeps it for some."""
    qos = {"urgent": {"teams": ["vision"]}, "scavenger": {}}
    found = rows({"qos": qos})
    kept = rows({"qos": qos | {"normal": {"teams": ["vision"]}}})

    assert found["account", "vision"]["QOS"] == "normal,scavenger,urgent"
    assert found["account", "research"]["QOS"] == "normal,scavenger"
    assert (kept["account", "research"]["QOS"], kept["account", "research"]["DefaultQOS"]) == (
        "scavenger",
    ) * 2


def test_a_quality_of_service_has_its_limits_in_slurms_units(rows):
    """Grace in seconds, time in minutes, rounded up."""
    one = {"priority": 9, "max_time": "90s", "max_gpus": 64, "max_gpus_per_user": 8, "max_gpus_per_job": 4}
    more = {"max_jobs_per_user": 3, "preempts": ["b", "a"], "preempt_mode": "cancel", "grace": "2m"}
    found = rows({"qos": {"urgent": one | more, "a": {}, "b": {}}})["qos", "urgent"]

    assert found == {
        "kind": "qos", "name": "urgent", "Priority": "9", "Preempt": "a,b", "PreemptMode": "cancel",
        "GraceTime": "120", "MaxWall": "2", "GrpTRES gres/gpu": "64", "MaxTRESPerJob gres/gpu": "4",
        "MaxTRESPerUser gres/gpu": "8", "MaxJobsPerUser": "3", "Flags": "DenyOnLimit",
    }  # fmt: skip


def test_headroom_is_named_as_slurm_keeps_names(altered):
    """In lower case: `headroom-Long` would be made again by each apply, and slurmctld would not find it."""
    long = {"nodes": ["a100"], "headroom_percent": 30}
    cluster = altered({"partitions.Long": long})
    said = next(line for line in slurm_conf(cluster, "").splitlines() if "PartitionName=Long" in line)

    assert "headroom-long" in {row["name"] for row in account_rows(cluster)}
    assert " QoS=headroom-long " in said


def test_headroom_is_a_limit_of_what_is_billed(rows, altered):
    """30 % of 16 GPUs stay: 11 are left, in a TRES that no team's limit is in."""
    found = rows({"partitions.train.headroom_percent": 30})["qos", "headroom-train"]
    cluster = altered({"partitions.train.headroom_percent": 30})

    assert headroom_gpus(cluster, cluster.partitions["train"]) == 11
    assert found["GrpTRES billing"] == str(11 * GPU_BILLED)
    assert "GrpTRES gres/gpu" not in found


def test_slurmctld_is_given_every_name_first(altered):
    """Also of those that a partition only allows."""
    cluster = altered({"qos": {"urgent": {}}, "partitions.train.headroom_percent": 30})

    assert [(row["name"], len(row)) for row in qos_names(cluster)] == [("urgent", 2), ("headroom-train", 2)]
