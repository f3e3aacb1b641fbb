"""Real trainings that lose ranks and hosts, and go on from memory: no checkpoint is written before the end."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(280)]
STORMY = Path(__file__).parents[2] / "launch" / "recovery" / "stormy.py"
STEPS = 80
NEVER = {"every": "1000 steps", "script": STORMY, "ranks": 1, "memory": "1 step"}


@pytest.fixture
def environment(monkeypatch):
    """What stormy.py is told."""
    monkeypatch.setenv("STORMY_STEPS", str(STEPS))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def losses(run):
    """Rank, step and exact loss, in the order in which they came."""
    return [
        (int(path.name.split("-")[1]), *line.split())
        for path in run.folder.glob("losses-*")
        for line in path.read_text().splitlines()
    ]


def assert_as_calm(run, calm):
    """Each loss of each rank, however often its step was done, and the final weights."""
    calm.start(**NEVER)
    assert calm.process.wait(timeout=150) == 0
    expected = {(rank, step): loss for rank, step, loss in losses(calm)}
    assert len(expected) == 2 * STEPS
    assert {(rank, step) for rank, step, _ in losses(run)} == expected.keys()
    assert [one for one in losses(run) if one[2] != expected[one[0], one[1]]] == []
    for rank in (0, 1):
        assert (
            run.folder.joinpath(f"weights-{rank}").read_text()
            == calm.folder.joinpath(f"weights-{rank}").read_text()
        )


def restored(run):
    """Step and source of each generation's beginning, as rank 0 says."""
    return [(event["step"], event["source"]) for event in run.events("restored", rank=0)]


def newest(run):
    """The newest complete step."""
    return max(event["step"] for event in run.events("step"))


def kill_rank(run, rank):
    """As sudden as the OOM killer; the newest complete step just before."""
    before = newest(run)
    os.kill(int((run.folder / f"pid-{rank}").read_text()), signal.SIGKILL)
    return before


def kill_host(run, host):
    """All at once: agent, fork server and ranks; the newest complete step just before."""
    mark = f"CLUSTERWRIGHT_HOST={host}\0".encode()
    before = newest(run)
    for pid in run.processes():
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
    return before


def test_ranks_killed_at_random_lose_nothing(local_run, other_run, environment):
    """Four kills; each generation begins at the newest complete step, or one before if the copy was on its way."""
    local_run.start(**NEVER)
    dice = random.Random(5)
    for kill in range(4):
        local_run.until_step(10 + 15 * kill)
        time.sleep(dice.random() * 0.05)
        before = kill_rank(local_run, kill % 2)
        step, source = local_run.until(lambda kill=kill: restored(local_run)[kill:])[0]
        assert source == "memory"
        assert step >= before - 1

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert_as_calm(local_run, other_run)


def test_a_lost_host_costs_no_disk_and_hardly_a_step(local_run, other_run, environment):
    """Its neighbor has its copies; a spare reads them."""
    local_run.start(policy="spare", spares=1, **NEVER)
    local_run.until_step(20)
    before = kill_host(local_run, local_run.events("generation_start")[0]["hosts"][1])
    step, source = local_run.until(lambda: restored(local_run))[0]

    assert source == "memory"
    assert step >= before - 2
    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert_as_calm(local_run, other_run)


def test_when_both_holders_die_the_disk_has_it(local_run, other_run, environment):
    """Two hosts at once, of two; two spares begin at the checkpoint."""
    local_run.start(policy="spare", spares=2, **{**NEVER, "every": "15 steps"})
    local_run.until(lambda: local_run.events("checkpoint"))
    for host in local_run.events("generation_start")[0]["hosts"]:
        kill_host(local_run, host)
    step, source = local_run.until(lambda: restored(local_run))[0]

    assert source == "disk"
    assert step % 15 == 0
    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert_as_calm(local_run, other_run)
