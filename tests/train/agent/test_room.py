"""What the supervisor makes of Slurm's word on its own job."""

import pytest

from clusterwright.train.agent import room

# The telling fields of `scontrol --oneliner show job` of Slurm 22.05.8, seen in a lab on 2026-11-21.
SAID = (
    "JobId=5 JobState={state} Reason={reason} Dependency=(null) PreemptEligibleTime={at} PreemptTime={aside}"
)
AT = "2026-11-21T20:16:17"


@pytest.mark.parametrize(
    ("state", "reason", "aside", "cancelled"),
    [
        ("COMPLETING", "None", "None", True),
        ("COMPLETING", "None", AT, False),
        ("RUNNING", "None", AT, False),
        ("COMPLETING", "TimeLimit", "None", False),
        ("CANCELLED", "None", "None", True),
    ],
)
def test_a_job_that_is_pushed_aside_was_not_cancelled(monkeypatch, state, reason, aside, cancelled):
    """Its successor goes on; a person's scancel ends the run."""
    said = SAID.format(state=state, reason=reason, at=AT, aside=aside)
    monkeypatch.setattr(room, "slurm", lambda *_: (0, said))  # the real one is in a lab, with real preemption
    monkeypatch.setenv("SLURM_JOB_ID", "5")

    assert room.Slurm(None, None).was_cancelled() is cancelled


def test_silence_is_no_cancellation(monkeypatch):
    """Where slurmctld does not answer, the successor stays."""
    monkeypatch.setattr(room, "slurm", lambda *_: (1, "slurm_load_jobs error: Invalid job id specified"))
    monkeypatch.setenv("SLURM_JOB_ID", "5")

    assert room.Slurm(None, None).was_cancelled() is False
