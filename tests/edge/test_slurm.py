import pytest

from clusterwright.edge import slurm
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.processes import Done
from clusterwright.errors import WrightError

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
    fields = slurm.parse_job(SHOWN)

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
    assert slurm.state_of({"JobState": said}) == state


def test_a_queue_passes_over_lines_of_another_form():
    """Warnings of another version are not jobs."""
    job = "5|bob|PENDING|0:00|1:00|2||(Resources)|r\n"
    text = "slurm_load_jobs: warning | x\n\n" + job + job.replace("|2|", "|many|")

    assert [job.job_id for job in slurm.parse_queue(text)] == ["5"]


def test_a_forgotten_job_has_no_fields():
    """MinJobAge after its end."""
    done = Done((), 1, "", "slurm_load_jobs error: Invalid job id specified", 0.0)
    remote = type("Gone", (), {"run": lambda *_, **__: done})()

    assert slurm.show_job(remote, "control", "5") == {}


def test_an_error_quotes_slurm():
    """Code, host, and its own words."""
    remote = FakeRemote(lambda *_: "", down=frozenset({"control"}))
    with pytest.raises(WrightError, match="control was not reached"):
        slurm.queue(remote, "control")
    with pytest.raises(WrightError, match="ended with 1: Unable to contact"):
        slurm.checked(Done((), 1, "", "Unable to contact slurm controller", 0.0), "control", "squeue")


@pytest.mark.parametrize(("out", "job_id"), [("123\n", "123"), ("a warning\n123;lab\n", "123")])
def test_the_job_id_is_on_the_last_line(out, job_id):
    """With the cluster's name on a federation."""
    assert slurm.submitted(Done((), 0, out, "", 0.0), "control", "alice") == job_id


def test_no_job_id_is_an_error():
    """Success without a number is none."""
    with pytest.raises(WrightError, match="no job id"):
        slurm.submitted(Done((), 0, "hello\n", "", 0.0), "control", "alice")
