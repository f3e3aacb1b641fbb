"""What the supervisor makes of Slurm's word on its own job."""

import pytest

from clusterwright.onhost.supervisor import schedulers
from clusterwright.onhost.supervisor.folder import Folder

# The telling fields of `scontrol --oneliner show job` of Slurm 22.05.8, seen in a lab on 2026-11-21.
SAID = (
    "JobId=5 JobState={state} Reason={reason} Dependency=(null) ExitCode={code} PreemptEligibleTime={at}"
    " PreemptTime={aside}"
)
AT = "2026-11-21T20:16:17"


@pytest.mark.parametrize(
    ("state", "reason", "code", "aside", "cancelled"),
    [
        ("COMPLETING", "None", "0:0", "None", True),
        ("COMPLETING", "None", "143:0", "None", True),
        ("COMPLETING", "None", "0:0", AT, False),
        ("RUNNING", "None", "0:0", AT, False),
        ("COMPLETING", "TimeLimit", "0:0", "None", False),
        ("COMPLETING", "None", "0:1", "None", False),
        ("COMPLETING", "None", "0:9", "None", False),
        ("CANCELLED", "None", "0:0", "None", True),
    ],
)
def test_a_job_that_is_pushed_aside_was_not_cancelled(monkeypatch, state, reason, code, aside, cancelled):
    """Its successor goes on, as it does when the batch host is back too soon or too late; a scancel ends the run."""
    said = SAID.format(state=state, reason=reason, code=code, at=AT, aside=aside)
    monkeypatch.setattr(
        schedulers, "slurm", lambda *_, **__: (0, said)
    )  # the real one is in a lab, with real preemption
    monkeypatch.setenv("SLURM_JOB_ID", "5")

    assert schedulers.Slurm(None, None).was_cancelled() is cancelled


def test_silence_is_no_cancellation(monkeypatch):
    """Where slurmctld does not answer, the successor stays."""
    monkeypatch.setattr(
        schedulers, "slurm", lambda *_, **__: (1, "slurm_load_jobs error: Invalid job id specified")
    )
    monkeypatch.setenv("SLURM_JOB_ID", "5")

    assert schedulers.Slurm(None, None).was_cancelled() is False


def test_a_standby_is_cancelled_until_slurm_has_heard_it(monkeypatch, tmp_path):
    """Once where slurmctld answers: each command of Slurm's is a process that an ending run waits for."""
    answers, asked = [(1, "Unable to contact slurm controller"), (0, "")], []
    monkeypatch.setattr(
        schedulers, "slurm", lambda *argv: asked.append(argv) or answers.pop(0)
    )  # the real one is in a lab
    monkeypatch.setenv("SLURM_JOB_ID", "5")
    folder = Folder(str(tmp_path))
    folder.write("standby.json", {"job_id": "17"})
    place = schedulers.Inherited(None, folder, ())
    for _ in range(3):
        place.cancel_standby()

    assert asked == [("scancel", "17")] * 2
    assert not place.has_standby


@pytest.mark.parametrize(
    ("code", "state", "canceled"),
    [(143, "RUNNING", [("scancel", "5")]), (143, "COMPLETING", []), (1, "RUNNING", []), (0, "RUNNING", [])],
)
def test_a_canceled_run_is_canceled_in_slurm_too(monkeypatch, code, state, canceled):
    """Its exit code alone would make it a failed job in Slurm's records; a job that scancel ends is left alone."""
    calls = []

    def slurm(*argv, **_):
        calls.append(argv)
        return 0, SAID.format(state=state, reason="None", code="0:0", at=AT, aside="None")

    monkeypatch.setattr(schedulers, "slurm", slurm)  # the real one is in a lab
    monkeypatch.setenv("SLURM_JOB_ID", "5")

    assert schedulers.Slurm(None, None).cancel_if_canceled(code) == code
    assert [argv for argv in calls if argv[0] == "scancel"] == canceled
