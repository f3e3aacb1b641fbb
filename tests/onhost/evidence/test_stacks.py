"""Stacks of the ranks of a job, on a host where other users have processes too."""

import pytest

from clusterwright.onhost.evidence import stacks


def rank(uid=1001, *, inside=False, number="1"):
    """A process that names the job in its environment."""
    return {"rank": number, "pid": 1, "path": "/x.stacks", "uid": uid, "is_inside": inside, "samples": []}


@pytest.mark.parametrize("user", [1001, None])
def test_only_processes_of_the_job_are_its_ranks(monkeypatch, user):
    """Another user can set SLURM_JOB_ID and RANK."""
    own, forged = rank(inside=True), rank(1002)
    monkeypatch.setattr(stacks, "_user_of", lambda _job: user)
    monkeypatch.setattr(stacks, "_processes", lambda _job: iter([forged] * 200 + [own]))
    assert stacks._ranks("78") == [own]

    monkeypatch.setattr(stacks, "_processes", lambda _job: iter([forged, rank()]))
    assert stacks._ranks("78") == ([rank()] if user else [])


def test_all_ranks_of_a_host_are_sampled_at_the_same_time(monkeypatch):
    """One after the other, two hundred would take longer than the time limit."""
    ranks, sleeps = [rank() for _ in range(200)], []
    monkeypatch.setattr(stacks.time, "sleep", sleeps.append)
    monkeypatch.setattr(stacks.stacks, "request_dump", lambda _pid: True)
    stacks.add_samples(ranks)

    assert sum(sleeps) == stacks.TO_WRITE_S
    assert {len(each["samples"]) for each in ranks} == {1}
