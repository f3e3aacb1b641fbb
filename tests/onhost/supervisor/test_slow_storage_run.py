"""Runs in a folder whose file server is slow: supervisors and agents that wait for it live, and no host is lost."""

import os
import signal
import time

import pytest
from tests.onhost.supervisor import slow_storage
from tests.onhost.supervisor.test_local_run import agent_of

from clusterwright.onhost.supervisor.host.processes import descendants

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]
TIMEOUT_S = 2.0


@pytest.fixture
def slow_run(local_run):
    """A run whose folder can be slow."""
    slow_storage.install(local_run.folder.parent)
    slow_storage.set_delay(local_run.folder.parent, 0)
    return local_run


def test_a_training_starts_and_ends_on_slow_storage(slow_run):
    """Each call takes as long as agents wait for a heartbeat: it takes a while, and it is one generation."""
    slow_storage.set_delay(slow_run.folder.parent, 0.5)
    slow_run.start(ranks=1, heartbeat_timeout=f"{TIMEOUT_S:g}s")
    slow_run.until_step(5)
    slow_storage.set_delay(slow_run.folder.parent, 0)

    assert slow_run.finish() == 0
    assert not slow_run.events("host_lost")
    assert len(slow_run.events("generation_start")) == 1


def test_a_stall_of_the_storage_loses_no_host(slow_run):
    """Three timeouts without an answer of the file server: the ranks train on."""
    slow_run.start(ranks=1, heartbeat_timeout=f"{TIMEOUT_S:g}s")
    slow_run.until_step(5)
    slow_storage.set_delay(slow_run.folder.parent, 3 * TIMEOUT_S)
    time.sleep(4 * TIMEOUT_S)
    slow_storage.set_delay(slow_run.folder.parent, 0)

    slow_run.until_step(max(event["step"] for event in slow_run.events("step")) + 5)
    assert slow_run.finish() == 0
    assert not slow_run.events("host_lost")
    assert len(slow_run.events("generation_start")) == 1


def test_a_lost_host_is_detected_in_time_on_slow_storage(slow_run):
    """A host that answers no more is lost after its timeout and the calls that the supervisor waits for meanwhile."""
    delay_s = 0.2
    slow_run.start(policy="spare", spares=1, ranks=1, heartbeat_timeout=f"{TIMEOUT_S:g}s")
    slow_run.until_step(5)
    slow_storage.set_delay(slow_run.folder.parent, delay_s)
    time.sleep(1)
    victim = slow_run.events("generation_start")[0]["hosts"][1]
    agent = agent_of(slow_run, victim)
    stopped_at = time.time()
    for pid in (agent, *descendants(agent)):
        os.kill(pid, signal.SIGSTOP)
    (loss,) = slow_run.until(lambda: slow_run.events("host_lost"))
    slow_storage.set_delay(slow_run.folder.parent, 0)

    assert loss["lost_host"] == victim
    assert TIMEOUT_S - 0.5 < loss["time"] - stopped_at < TIMEOUT_S + 10 * delay_s
    assert slow_run.until(lambda: slow_run.events("resumed", generation=2))
    assert slow_run.finish() == 0
