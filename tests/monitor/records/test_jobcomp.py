"""slurmctld's own file of ended jobs."""

import pytest

from clusterwright.monitor.records.jobcomp import read
from clusterwright.monitor.records.sacct import Bad

# Written by hand in the form of slurmctld 22.05.8.
LINE = (
    "JobId=7 UserId=alice(6001) GroupId=alice(6001) Name=wrap JobState=COMPLETED Partition=train TimeLimit=90"
    " StartTime=2026-11-23T02:10:00 EndTime=2026-11-23T02:12:00 NodeList=gpu-node[1-2] NodeCnt=2 ProcCnt=8"
    " WorkDir=/home/alice ReservationName= Tres=cpu=8,mem=32G,node=2,billing=8,gres/gpu=4 Account= QOS="
    " WcKey= Cluster=unknown SubmitTime=2026-11-23T02:00:00 EligibleTime=2026-11-23T02:00:00"
    " DerivedExitCode=0:0 ExitCode=0:0 "
)


def test_an_ended_job_is_read():
    """All that a report needs is there without accounting."""
    (job,) = read([LINE])

    assert (job.id, job.user, job.state, job.hosts, job.host_count) == (
        "7",
        "alice",
        "COMPLETED",
        "gpu-node[1-2]",
        2,
    )
    assert (job.gpus, job.cpus, job.memory, job.limit_s) == (4, 8, 32 << 30, 5400)
    assert (job.elapsed_s, job.waited_s, job.exit_code) == (120, 600, "0:0")


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "x JobState=COMPLETED",
        "\x1b[31mred",
        "<b>",
        "x Partition=y TimeLimit=1",
        "\u202elive",
        "JobId=1",
    ],
)
def test_a_name_is_what_the_user_wrote(name):
    """Whatever it says, it moves no other column."""
    (job,) = read([LINE.replace("Name=wrap", f"Name={name}").replace("COMPLETED P", "FAILED P")])

    assert (job.name, job.state, job.partition) == (name, "FAILED", "train")


def test_a_folder_may_look_like_slurm():
    """What comes last is slurmctld's."""
    (job,) = read([LINE.replace("/home/alice", "/x Account=root Tres=gres/gpu=999")])

    assert (job.account, job.gpus) == ("", 4)


@pytest.mark.parametrize(
    ("limit", "seconds"), [("UNLIMITED", None), ("Partition_Limit", None), ("1-00:00:00", 86400), ("5", 300)]
)
def test_limits(limit, seconds):
    """Minutes, a span, or none."""
    (job,) = read([LINE.replace("TimeLimit=90", f"TimeLimit={limit}")])

    assert job.limit_s == seconds


def test_torn_lines_are_said():
    """A name with a newline in it, and a disk that was full."""
    found = list(read([LINE[:200], LINE, "", LINE.replace("2026-11-23T02:10:00", "never")]))

    assert found[0] == Bad(1, "not a line of slurmctld's job completion log")
    assert found[1].id == "7"
    assert found[2] == Bad(4, "`never` is not a time")
