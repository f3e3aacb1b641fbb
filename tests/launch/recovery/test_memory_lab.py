"""A host of a real Slurm job is powered off; the training goes on from its neighbor's memory. Needs root."""

import pytest

from clusterwright import lab

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(600)]
STEPS = 150


def test_agents_outlive_a_supervisor_that_is_followed_in_its_own_job(training):
    """It was slow, and lets go; they keep what they hold in memory for the next one, which here never comes up."""
    slow = training(1_000_000, recovery={"on_host_loss": "shrink"}, elastic={"min_nodes": 1})
    slow.until_step(30)
    (began,) = slow.until("job_start")
    slow.where.sh("control", f"printf {began['job_id']} > {slow.run.folder}/chain/2")
    (again,) = slow.until("generation_start", generation=2)
    slow.until("step", generation=2)
    (restored, *_) = slow.until("restored", generation=2)
    slow.cancel()

    assert (again["source"], restored["source"]) == ("memory", "memory")
    assert sorted(again["hosts"]) == sorted(began["hosts"])
    assert [one["number"] for one in slow.events("failover")] == [3]
    assert len(slow.events("job_start")) == 1


def test_a_killed_host_needs_no_disk(training):
    """The spare begins at the newest step, or close to it, without a checkpoint; steps done again come out alike."""
    struck = training(STEPS, recovery={"on_host_loss": "spare", "spare_nodes": 1, "heartbeat_timeout": "10s"})
    struck.until_step(30)
    batch = struck.until("job_start")[0]["host"]
    victim = next(host for host in struck.until("generation_start")[0]["hosts"] if host != batch)
    lab.fault(struck.where.cluster.name, "kill-host", victim)
    lost = struck.until("host_lost")[0]["time"]
    before = max(one["step"] for one in struck.events("step") if one["time"] <= lost)
    restored = struck.until("restored", lambda found: len(found) == 2, generation=2)
    struck.finish()

    assert {one["source"] for one in restored} == {"memory"}
    assert {one["step"] for one in restored} <= {before - 2, before - 1, before}
    assert [one["step"] for one in struck.events("checkpoint")] == [STEPS]
    assert victim not in struck.events("generation_start")[-1]["hosts"]
    losses = struck.losses()
    assert sorted(losses) == list(range(1, STEPS + 1))
    assert [step for step, found in losses.items() if len(found) > 1] == []
