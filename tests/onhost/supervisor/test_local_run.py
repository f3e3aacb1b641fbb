import os
import signal
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.host.processes import descendants

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]


def kill(pid):
    """As sudden as a power cut."""
    os.kill(pid, signal.SIGKILL)


def no_process_left(run):
    """Nothing of the run is there any more."""
    return not run.processes()


def test_a_run_counts_to_its_end(local_run):
    """Four ranks on two hosts; exit code 0, and nothing is left."""
    local_run.start(steps=12, pause=0.01)

    assert local_run.process.wait(timeout=150) == 0
    assert local_run.outcome()["outcome"] == "finished"
    assert {event["rank"] for event in local_run.events("finished")} == {0, 1, 2, 3}
    local_run.until(lambda: no_process_left(local_run))


def test_a_killed_rank_is_restarted_in_place(local_run):
    """The next generation has the same hosts; all ranks resume from the newest checkpoint."""
    local_run.start()
    local_run.until_step(7)
    kill(local_run.until(lambda: local_run.events("resumed", rank=3))[0]["pid"])
    again = local_run.until(lambda: local_run.events("resumed", rank=3)[1:])

    assert again[0]["generation"] == 2
    assert len({tuple(one["hosts"]) for one in local_run.events("generation_start")}) == 1
    assert again[0]["step"] >= 5
    assert local_run.finish() == 0


def test_a_killed_torchrun_takes_its_ranks_along(local_run):
    """No rank trains on without its torchrun; the next generation begins from the newest checkpoint."""
    local_run.start(launcher="torchrun")
    local_run.until_step(7)
    ranks = {event["pid"] for event in local_run.events("resumed")}
    parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in ranks}
    kill(parents.pop())
    local_run.until(lambda: local_run.events("resumed", generation=2))

    assert not ranks & set(local_run.processes())
    assert local_run.events("generation_end")[0]["reason"] == "ranks-failed"
    assert local_run.finish() == 0


def test_a_killed_agent_is_a_lost_host_and_a_spare_takes_over(local_run):
    """The host's ranks die with its agent; the spare takes its place."""
    local_run.start(policy="spare", spares=1)
    local_run.until_step(7)
    first = local_run.events("generation_start")[0]["hosts"]
    kill(agent_of(local_run, first[1]))
    second = local_run.until(lambda: local_run.events("generation_start")[1:])[0]["hosts"]

    assert second[0] == first[0]
    assert second[1] not in first
    resumed = local_run.until(lambda: local_run.events("resumed", generation=2))
    assert resumed[0]["step"] >= 5
    assert local_run.finish() == 0


def test_a_host_that_comes_back_is_ready_again(local_run):
    """After the loss an agent is started anew on the host, and it joins."""
    local_run.start(policy="spare", spares=1)
    local_run.until_step(3)
    lost = local_run.events("generation_start")[0]["hosts"][1]
    kill(agent_of(local_run, lost))

    local_run.until(lambda: local_run.said().count(f"{lost} is ready") == 2)
    assert local_run.finish() == 0


def test_without_a_spare_the_job_shrinks(local_run):
    """One of two hosts goes on alone."""
    local_run.start(policy="shrink")
    local_run.until_step(7)
    kill(agent_of(local_run, local_run.events("generation_start")[0]["hosts"][1]))
    second = local_run.until(lambda: local_run.events("generation_start")[1:])[0]

    assert len(second["hosts"]) == 1
    assert local_run.finish() == 0


def test_a_successor_takes_over_from_a_lost_host(local_run):
    """A second supervisor goes on, with the next number in the chain and the next generation."""
    local_run.start(policy="successor")
    local_run.until_step(7)
    kill(agent_of(local_run, local_run.events("generation_start")[0]["hosts"][1]))
    local_run.until(lambda: local_run.events("resumed", generation=2))

    assert len(local_run.events("job_start")) == 2
    assert local_run.finish() == 0


def test_a_killed_supervisor_leaves_no_rank_behind(local_run):
    """All ranks of its generation are gone before its successor's begin; the run finishes."""
    local_run.start()
    local_run.until_step(7)
    old = {event["pid"] for event in local_run.events("resumed")}
    (supervisor,) = local_run.processes("run_module.py clusterwright.onhost.supervisor.supervisor")
    kill(supervisor)
    local_run.until(lambda: len(local_run.events("job_start")) == 2)
    assert not old & set(local_run.processes())

    resumed = local_run.until(lambda: local_run.events("resumed", generation=2))
    assert resumed[0]["step"] >= 5
    assert local_run.finish() == 0


def test_policy_fail_ends_the_run(local_run):
    """A lost host, and nobody takes over: exit code 1."""
    local_run.start(policy="fail")
    local_run.until_step(3)
    kill(agent_of(local_run, "local2"))

    assert local_run.process.wait(timeout=150) == 1
    assert "local2" in local_run.outcome()["reason"]


def test_the_same_failure_again_and_again_ends_the_run(local_run):
    """A step that always fails is tried `restarts` times, not for ever: exit code 4."""
    local_run.start(nodes=1, pause=0.01, fail_at=3, restarts=1)

    assert local_run.process.wait(timeout=150) == 4
    assert local_run.outcome()["outcome"] == "no-progress"


def test_a_time_limit_saves_and_hands_over(local_run):
    """The ranks leave with a checkpoint before the limit, and a successor goes on from there."""
    local_run.start(nodes=1, time=45, grace_s=25, successors=1)
    stopped = local_run.until(lambda: local_run.events("stopped", rank=0))[0]
    resumed = local_run.until(lambda: local_run.events("resumed", generation=2, rank=0))[0]

    assert resumed["step"] == stopped["step"]
    assert local_run.finish() == 0


def test_a_run_whose_ranks_see_the_request_first_is_canceled(local_run):
    """They exit with code 0 within a step, before the supervisor looks for the file."""
    local_run.start(pause=0.01)
    local_run.until_step(7)
    (local_run.folder / "cancelled").touch()
    (local_run.folder / "stop").touch()

    local_run.process.wait(timeout=60)
    assert local_run.outcome()["outcome"] == "cancelled"


def test_a_cancelled_run_saves_and_has_no_successor(local_run):
    """Exit code 143, a checkpoint at the last step, and no second job."""
    local_run.start()
    local_run.until_step(3)
    (local_run.folder / "cancelled").touch()

    assert local_run.process.wait(timeout=150) == 143
    assert local_run.outcome()["outcome"] == "cancelled"
    assert len(local_run.events("job_start")) == 1
    last = local_run.events("stopped", rank=0)[0]["step"]
    assert (local_run.folder / "checkpoints" / f"step-{last:08d}").exists()
    local_run.until(lambda: no_process_left(local_run))


def test_a_host_that_was_paused_does_not_train_on(local_run):
    """A host frozen beyond its silence finds itself replaced when it wakes: its ranks end, and it is a spare."""
    local_run.start(policy="spare", spares=1)
    local_run.until_step(3)
    victim = local_run.events("generation_start")[0]["hosts"][1]
    agent = agent_of(local_run, victim)
    host = [agent, *descendants(agent)]
    for pid in host:
        os.kill(pid, signal.SIGSTOP)
    local_run.until(lambda: local_run.events("generation_start")[1:])
    old = {event["pid"] for event in local_run.events("resumed", generation=1, host=victim)}
    for pid in host:
        os.kill(pid, signal.SIGCONT)

    local_run.until(lambda: not old & set(local_run.processes()))
    local_run.until(lambda: local_run.said().count(f"{victim} is ready") == 2)
    assert local_run.finish() == 0


def agent_of(run, host):
    """The process id of a host's agent."""
    for pid in run.processes("run_module.py clusterwright.onhost.supervisor.node"):
        if f"CLUSTERWRIGHT_HOST={host}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
            return pid
    raise AssertionError(f"no agent of {host}")
