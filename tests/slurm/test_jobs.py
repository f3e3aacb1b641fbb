"""Jobs as Slurm prints them."""

import re

import pytest

from clusterwright.edge import slurm
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.slurm import NAMED_FIELDS
from clusterwright.slurm.jobs import job_state_of, parse_queue
from clusterwright.slurm.records import Record

# recorded with Slurm 22.05.8 on a lab, 2026-11-21
SHOWN = (
    "JobId=9 JobName=t-spare-20261121-133631 UserId=alice(6001) GroupId=language(5001) MCS_label=N/A Nice=0 "
    "Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) Requeue=0 BatchFlag=1 "
    "ExitCode=0:0 RunTime=00:02:58 TimeLimit=00:10:00 TimeMin=N/A NodeList=gpu-node[1,3] BatchHost=gpu-node1 "
    "TRES=cpu=12,mem=11136M,node=3,billing=12,gres/gpu=3,gres/gpu:a100=3 Socks/Node=* NtasksPerN:B:S:C=1:0:*:* "
    "Command=/shared/runs/t-spare-20261121-133631/job.sh WorkDir=/shared/runs/t spare StdErr=/x/slurm-9.out Power= \n"
)


def test_fields_of_a_job_are_read_whatever_they_hold():
    """Spaces and = in a value, slashes in a name, nothing at the end."""
    fields = Record.parse(SHOWN)

    assert fields["JobState"] == "RUNNING"
    assert fields["WorkDir"] == "/shared/runs/t spare"
    assert fields["TRES"].startswith("cpu=12,mem=11136M")
    assert fields["Socks/Node"] == "*"
    assert fields["Power"] == ""


@pytest.mark.parametrize(
    ("said", "state"), [("CANCELLED by 6001", "CANCELLED"), ("NODE_FAIL", "NODE_FAIL"), ("", "UNKNOWN")]
)
def test_a_state_is_one_word(said, state):
    """Whatever Slurm adds to it."""
    assert job_state_of(Record({"JobState": said})) == state


def test_a_queue_passes_over_lines_of_another_form():
    """Warnings of another version are not jobs."""
    job = "5|bob|PENDING|0:00|1:00|2||(Resources)|r\n"
    text = "slurm_load_jobs: warning | x\n\n" + job + job.replace("|2|", "|many|")

    assert [job.id for job in parse_queue(text, NAMED_FIELDS)] == ["5"]


FORGED = "99999|root|RUNNING|1:00|1:00|4|gpu-node[1-4]|None|maintenance"


@pytest.mark.parametrize(
    "separator", ["\n", "\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
)
def test_the_name_of_a_job_adds_no_job_to_the_queue(separator):
    """Whatever separates lines for Python or for squeue."""

    def squeue(_host, command, _stdin):
        mark = re.search("--format='?([0-9a-f]*)%i", command)[1]
        name = f"x{separator}{FORGED}"
        return f"{mark}7|eve|RUNNING|1:00|1:00|1|gpu-node1|None|{name}\n{mark}8|bob|RUNNING|1:00|1:00|1|b|None|y\n"

    jobs = slurm.queue(FakeRemote(squeue), "control")

    assert [(job.id, job.user) for job in jobs] == [("7", "eve"), ("8", "bob")]


def test_a_row_without_a_job_id_is_no_job():
    """An id goes to command lines of Slurm."""
    row = "|root|RUNNING|1:00|1:00|4|gpu-node1|None"

    assert parse_queue(f"--user=bob{row}\n7 8{row}\n7\u2028{row}\n", slurm.FIELDS) == ()
    assert [job.id for job in parse_queue(f"12_[0-99%4]{row}\n12_3{row}\n12+1{row}\n", slurm.FIELDS)] == [
        "12_[0-99%4]", "12_3", "12+1",
    ]  # fmt: skip
