"""Records of jobs whose owner writes what looks like fields and records of Slurm."""

import itertools

import pytest

from clusterwright.slurm.job_records import parse_job, parse_jobs

# Slurm 22.05.8 on a lab, 2026-11-21; the fields of 23.11 to 26.05 as scontrol/info_job.c prints them
HEAD = (
    "UserId=eve(6001) GroupId=domain users(5001) MCS_label=N/A Priority=1 Nice=0 Account=(null) QOS=(null) "
    "WCKey={wckey} JobState=RUNNING Reason=None Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 "
    "ExitCode=0:0 RunTime=00:02:58 TimeLimit=00:10:00 TimeMin=N/A SubmitTime=2026-11-21T10:00:00 "
    "StartTime=2026-11-21T10:00:01 EndTime=2026-11-21T10:10:01 Deadline=N/A Partition=train "
    "AllocNode:Sid={node}:17 ReqNodeList=(null) "
    "ExcNodeList=(null) NodeList=gpu-node1 BatchHost=gpu-node1 NumNodes=1 NumCPUs=4 ReqB:S:C:T=0:0:*:* TRES=cpu=4 "
    "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=1 MinMemoryNode=0 Features=(null) OverSubscribe=OK "
    "Contiguous=0 Licenses=(null) Network={network} Command={command} WorkDir={folder} Comment={comment} "
    "StdErr=/x/slurm-8.out StdIn=/dev/null StdOut=/x/slurm-8.out Power= TresPerNode={tres}\n"
)
HARMLESS = {
    "name": "train", "wckey": "*", "node": "login", "network": "(null)", "command": "/x/job.sh", "folder": "/x",
    "comment": "a", "tres": "gres:gpu:1",
}  # fmt: skip
REAL = {"UserId": "eve(6001)", "JobState": "RUNNING", "NodeList": "gpu-node1", "Requeue": "0", "Account": ""}
FORGED = (
    "x UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=1 Nice=0 Account=physics QOS=(null) JobState=PENDING "
    "Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 NodeList=victim Reservation=maint"
)
NEXT = f"x\nJobId=9 JobName={FORGED[2:]}"


def output(ids="JobId=8 ", **texts):
    """What scontrol prints for a job of eve."""
    texts = HARMLESS | texts
    return f"{ids}JobName={texts['name']} {HEAD.format(**texts)}"


def test_a_job_of_an_honest_user_is_read():
    """Each part; a group may have a space in its name."""
    record = parse_job(output())

    assert {name: record[name] for name in REAL} == REAL
    assert (record["JobId"], record["JobName"], record["GroupId"]) == ("8", "train", "domain users(5001)")
    assert (record["Comment"], record["StdOut"], record["TresPerNode"]) == (
        "a",
        "/x/slurm-8.out",
        "gres:gpu:1",
    )


@pytest.mark.parametrize("release", ["SLUID=s7ABC ", "HetJobIdSet=8-9 ", "SLUID=s7ABC HetJobIdSet=8-9 "])
def test_what_newer_releases_print_behind_the_name_is_not_of_it(release):
    """Of 25.11, and of heterogeneous jobs."""
    record = parse_job(output().replace("UserId=", f"{release}UserId="))

    assert (record["JobName"], record["UserId"]) == ("train", "eve(6001)")


def test_spaces_and_signs_in_texts_are_theirs():
    """A name and a comment that look a little like fields."""
    record = parse_job(output(name="lr=3 x", comment="a=b NodeListing=1", folder="/x/my runs"))

    assert (record["JobName"], record["WorkDir"]) == ("lr=3 x", "/x/my runs")
    assert {name: record[name] for name in REAL} == REAL


TEXTS = ("name", "wckey", "node", "network", "command", "folder", "comment", "tres")
FORGERIES = (
    FORGED, NEXT, "x NodeList=victim", "x JobState=PENDING", "x Requeue=1", "x Account=physics", "x UserId=root(0)",
    "x\nUserId=root(0) GroupId=root(0)", "x Reservation=maint", "x Network=(null) Command=/y",
    "x Comment=y NodeList=victim", f"x Network=y {FORGED}", "x FailedNode=victim", "x SchedNodeList=victim",
)  # fmt: skip


@pytest.mark.parametrize(("place", "forgery"), list(itertools.product(TEXTS, FORGERIES)))
def test_no_text_of_a_user_makes_a_field_of_slurmctld(place, forgery):
    """The field is the real one, or the record lacks it."""
    records = [parse_job(output(**{place: forgery})), *parse_jobs(output(**{place: forgery}))]
    for record in records:
        assert record["JobId"] == "8"
        assert all(record[name] in (value, "") for name, value in REAL.items())
        assert all(record[name] == "" for name in ("Reservation", "FailedNode", "SchedNodeList"))


@pytest.mark.parametrize("place", TEXTS)
def test_texts_behind_slurmctlds_fields_forge_none_and_damage_none(place):
    """A comment with NodeList= leaves the list what it is."""
    record = parse_job(output(**{place: "x NodeList=victim"}))

    if place in ("command", "folder", "comment", "tres", "network"):
        assert record["NodeList"] == "gpu-node1"


def test_an_array_has_several_records_and_a_job_has_one():
    """Each record of an array has its id; a single job's name begins no further record."""
    array = output("JobId=9 ArrayJobId=8 ArrayTaskId=1 ") + output("JobId=8 ArrayJobId=8 ArrayTaskId=2-9 ")
    strange = output("JobId=9 ArrayJobId=8 ArrayTaskId=1 ") + output("JobId=5 ArrayJobId=5 ArrayTaskId=2 ")

    assert [record["JobId"] for record in parse_jobs(array)] == ["9", "8"]
    assert [record["JobId"] for record in parse_jobs(strange)] == ["9"]
    assert len(parse_jobs(output(name=NEXT))) == 1
    assert parse_jobs("slurm_load_jobs error: Invalid job id specified") == []
    assert dict(parse_job("")) == {}


def test_a_warning_before_the_record_is_dropped():
    """Of scontrol, in the same stream."""
    assert parse_job("scontrol: warning: x\n" + output())["UserId"] == "eve(6001)"
