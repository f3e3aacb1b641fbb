"""A loop that is killed, at each of its steps and at any moment, neither repeats an action nor forgets one.

Each is a real process with the real journal; what it has started on a host when it is killed goes on there.
"""

import os
import random
import signal
import time
from collections import Counter

import pytest
from tests.forks import forked

from clusterwright.heal.journal import Journal

WANTED = [
    "drain gpu-node1", "requeue 7", "exclude 7 gpu-node1", "reboot gpu-node1", "resume gpu-node1",
    "restart gpu-node2 munge.service",
    "drain gpu-node3", "resume gpu-node4",
]  # fmt: skip
LIMIT_S = 60


class Counted:
    """Whatever it stands for; before each call and after it the process may be killed."""

    def __init__(self, of, left):
        self._of, self._left = of, left

    def __getattr__(self, name):
        """The same, counted."""
        found = getattr(self._of, name)
        return self._counted(found) if callable(found) else found

    def _counted(self, call):
        def counted(*args, **kwargs):
            self._step()
            result = call(*args, **kwargs)
            self._step()
            return result

        return counted

    def _step(self):
        self._left[0] -= 1
        if self._left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def troubled(pretended, name="world"):
    """Three hosts in trouble, of three kinds."""
    made = pretended(name=name)
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    made.job("7", "gpu-node1")
    made.put("gpu-node2", fault_munge_on_host="no socket")
    made.put("gpu-node3", state="DOWN", reason="Not responding", down="")
    return made


def started(made, steps=0):
    """A process of the loop, which ends when all is done; killed at its step of that number."""

    def work():
        left = [steps]
        journal = Counted(Journal(made.folder / "intents.sqlite"), left)
        loop = made.loop(journal=journal, remote=Counted(made.remote, left), settle_s=0.0)
        end = time.monotonic() + LIMIT_S
        while not is_done(made) and time.monotonic() < end:
            loop.tick()

    return forked(work)


def is_done(made):
    """All that was wanted was done, and nothing is open."""
    if set(made.effects()) < set(WANTED):
        return False
    journal = Journal(made.folder / "intents.sqlite")
    try:
        return not journal.entries("begun", "acted")
    finally:
        journal.close()


def left_open(made):
    """For who looks why it does not end."""
    journal = Journal(made.folder / "intents.sqlite")
    try:
        return [(entry.record, entry.error) for entry in journal.entries()]
    finally:
        journal.close()


def ended(child):
    """The signal that ended it, or 0; one that hangs is killed, and said."""
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def holds(made):
    """Each action was done once, in an order that makes sense, and nothing else was."""
    effects = made.effects()
    assert Counter(effects) == Counter(WANTED), effects
    order = [effects.index(word) for word in WANTED[:5]]
    assert order == sorted(order), effects


@pytest.mark.parametrize("first", range(6))
def test_killed_at_each_step_of_a_repair(pretended, first):
    """Every sixth step from here on: killed there, started again, and killed at the next one, until all is done."""
    made, kills, step = troubled(pretended), 0, 1 + first
    while not is_done(made):
        kills += ended(started(made, step)) == signal.SIGKILL
        step = step + 6 if step < 200 else 0

    assert kills
    holds(made)


def test_killed_at_fifty_random_moments(pretended):
    """Repair after repair, until fifty kills have hit. On a slow machine they come later, until something was done."""
    chance, kills, number, most_s = random.Random(11), 0, 0, 0.5
    while kills < 50:
        number += 1
        made, before = troubled(pretended, f"world{number}"), None
        end = time.monotonic() + 2 * LIMIT_S
        while not is_done(made):
            child = started(made)
            time.sleep(chance.uniform(0.0, most_s))
            os.kill(child, signal.SIGKILL)
            kills += ended(child) == signal.SIGKILL
            most_s = min(LIMIT_S, 1.5 * most_s) if before == len(made.effects()) else 0.5
            before = len(made.effects())
            assert time.monotonic() < end, (made.effects(), left_open(made))
        holds(made)

    assert kills >= 50
