import pytest

from clusterwright.edge import slurm
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.processes import CommandResult
from clusterwright.errors import WrightError


def test_a_forgotten_job_has_no_fields():
    """MinJobAge after its end."""
    done = CommandResult((), 1, "", "slurm_load_jobs error: Invalid job id specified", 0.0)
    remote = type("Gone", (), {"run": lambda *_, **__: done})()

    assert dict(slurm.show_job(remote, "control", "5")) == {}


def test_an_error_quotes_slurm():
    """Code, host, and its own words."""
    remote = FakeRemote(lambda *_: "", down=frozenset({"control"}))
    with pytest.raises(WrightError, match="control is unreachable"):
        slurm.queue(remote, "control")
    with pytest.raises(WrightError, match="exited with 1: Unable to contact"):
        slurm.checked(
            CommandResult((), 1, "", "Unable to contact slurm controller", 0.0), "control", "squeue"
        )


@pytest.mark.parametrize(("out", "job_id"), [("123\n", "123"), ("a warning\n123;lab\n", "123")])
def test_the_job_id_is_on_the_last_line(out, job_id):
    """With the cluster's name on a federation."""
    assert slurm.submitted(CommandResult((), 0, out, "", 0.0), "control", "alice") == job_id


def test_no_job_id_is_an_error():
    """Success without a number is none."""
    with pytest.raises(WrightError, match="no job id"):
        slurm.submitted(CommandResult((), 0, "hello\n", "", 0.0), "control", "alice")
