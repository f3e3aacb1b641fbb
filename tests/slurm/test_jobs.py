"""Jobs as Slurm prints them."""

import pytest

from clusterwright.edge.slurm import FIELDS
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

    assert [job.id for job in parse_queue(text, FIELDS)] == ["5"]
