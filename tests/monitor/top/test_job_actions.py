"""What is done with a job is done as the person who looks."""

import pytest

from clusterwright.edge.bundler import program_command
from clusterwright.edge.fakes import FakeRemote
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import FromHost, Ssh
from clusterwright.errors import WrightError
from clusterwright.monitor.snapshot import JobView, RunSnapshot
from clusterwright.monitor.top.job_actions import ByShell


class Coded:
    """A control host whose commands end with a code."""

    def __init__(self, code, err=""):
        self._code, self._err, self.sudo = code, err, False

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """As a Remote."""
        return CommandResult((command,), self._code, "", self._err, 0.0)


def job(name="1", run=None):
    """One that runs."""
    return JobView(name, "x; rm -rf /", "alice", "vision", "train", "RUNNING", run=run)


def acts(remote, user="alice"):
    """By that remote."""
    return ByShell(remote, "control", "/shared/runs", user, lambda number: f"why {number}")


@pytest.mark.parametrize(
    ("name", "command"),
    [("12", "scancel --user=alice 12"), ("8_3", "scancel --user=alice 8_3"),
     ("8_[0-99%4]", "scancel --user=alice --state=PENDING 8"),
     ("12+1", "scancel --user=alice 12+1"),
     ("$(reboot)", "scancel --user=alice 0")],
)  # fmt: skip
def test_a_job_is_cancelled_by_its_number(name, command):
    """As the user; root stays root; nothing of a name reaches the shell."""
    remote = FakeRemote(lambda *_: "")
    acts(remote, "root").cancel(job(name))
    acts(remote).cancel(job(name))

    assert remote.calls[0] == ("control", command)
    assert "runuser -u alice" in remote.calls[1][1]
    assert command in remote.calls[1][1]
    assert "rm -rf" not in remote.calls[1][1]


def test_a_run_is_asked_to_save_first():
    """By the program that `wright cancel` sends."""
    remote = FakeRemote(lambda *_: "cancelled")
    acts(remote, "root").cancel(job(run=RunSnapshot("gpt 1")))

    assert remote.calls[0][1] == program_command("cancel", "/shared/runs", "gpt 1")


def test_output_is_read_where_slurm_says(tmp_path, monkeypatch):
    """By a real shell, with a scontrol that says where; the last lines alone."""
    (tmp_path / "out").write_text("".join(f"line {number}\n" for number in range(500)))
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\necho 'JobId=1 StdErr=/x StdOut={tmp_path}/out Power='\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines = acts(FromHost("control", Ssh()), "root").output(job()).splitlines()
    assert (len(lines), lines[-1]) == (200, "line 499")


@pytest.mark.parametrize(
    ("code", "err", "words"),
    [(1, "scancel: error: Access/permission denied", "Access/permission denied"), (78, "", "wright top --as USER"),
     (255, "ssh: timed out", "is unreachable")],
)  # fmt: skip
def test_what_is_refused_says_why(code, err, words):
    """In Slurm's words, or with the way to say who one is."""
    with pytest.raises(WrightError, match=words):
        acts(Coded(code, err)).cancel(job())


def test_the_reason_is_asked_of_whoever_knows():
    """By the number of the job."""
    assert acts(FakeRemote(lambda *_: "")).explain(job("8_[0-3]")) == "why 8"
