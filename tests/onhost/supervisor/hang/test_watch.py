import math
import os
import random
import signal
import subprocess
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.hang import progress
from clusterwright.onhost.supervisor.hang.envelope import STOPPED_S
from clusterwright.onhost.supervisor.hang.inquiry import Inquiry
from clusterwright.onhost.supervisor.hang.watch import POLL_INTERVAL_S, Watch, Watched

HOSTS, EACH = ("a", "b"), 2
START_S = 100.0  # of the simulated clock


class Training:
    """Four ranks on two hosts with a simulated clock: each step they compute, then meet in one collective.

    `seconds(step, rank)` is how long a rank computes; infinite is a hang.
    """

    def __init__(self, steps, seconds, *, shows_steps=True):
        self.started, self.completed = [[] for _ in range(len(HOSTS) * EACH)], []
        self.shows_steps, now = shows_steps, START_S + 1
        for step in range(steps):
            ready = [now + seconds(step, rank) for rank in range(len(self.started))]
            for rank, at in enumerate(ready):
                self.started[rank].append(at)
            now = max(ready)
            self.completed.append(now)
        self.end = min(now, START_S + 1e5)

    def write(self, page, rank, now):
        """What the rank shows at that moment."""
        count, steps = bisect_right(self.started[rank], now), bisect_right(self.completed, now)
        page[progress.LIFE] = int(now * 1e9)
        page[progress.COLLECTIVES] = page[progress.GROUPS + 1] = count
        page[progress.GROUPS] = 7
        if self.shows_steps and steps:
            page[progress.STEP] = steps
            page[progress.MOVED] = int(self.completed[steps - 1] * 1e9)
            page[progress.PHASE] = progress.STEPPING

    def stands(self, rank, now):
        """True when it will never start another collective."""
        return not any(now < at < math.inf for at in self.started[rank])


def watched(training, until, *, works=frozenset(), looks_late=()):
    """Lets hosts and supervisor look on: every examination, and when the verdict was given, if one was.

    `works` are ranks that an examination finds at work; any other is found hung.
    """
    pages = {host: progress.Pages(EACH) for host in HOSTS}
    hosts = {host: Watch() for host in HOSTS}
    for number, host in enumerate(HOSTS):
        ranks = [Watched(number * EACH + n, os.getpid(), pages[host][n]) for n in range(EACH)]
        hosts[host].begin(ranks, START_S)
    case, examinations, now = Inquiry(HOSTS), [], START_S
    while now < until:
        now += POLL_INTERVAL_S / 2
        if any(begin < now < end for begin, end in looks_late):
            continue
        for number, (host, watch) in enumerate(hosts.items()):
            for n in range(EACH):
                training.write(pages[host][n], number * EACH + n, now)
            still = watch.poll(now) if watch.due(now) == 0 else None
            if still:
                case.receive(host, still.ranks, still.repeat_s, now)
        for ranks in case.due(now).values():
            examinations.append((round(now - START_S, 1), ranks))
            verdicts = [
                {
                    "rank": rank,
                    "verdict": "active" if rank in works else "hung",
                    "message": "",
                    "proven": False,
                }
                for rank in ranks
            ]
            hung = case.examined(verdicts, now + 1)
            if hung:
                return examinations, now + 1, hung
    return examinations, None, []


def test_ten_thousand_steps_with_long_pauses_are_no_hang():
    """20 s on all ranks every 500 steps, and a first step that takes ten times as long: nobody is even examined."""
    training = Training(10_000, lambda step, _: 0.5 if step == 0 else 20.05 if step % 500 == 499 else 0.05)

    assert watched(training, training.end)[:2] == ([], None)


def test_a_plain_script_is_watched_by_its_collectives():
    """The same without steps being shown."""
    training = Training(
        3_000, lambda step, _: 0.5 if step == 0 else 20.05 if step % 500 == 499 else 0.05, shows_steps=False
    )

    assert watched(training, training.end)[:2] == ([], None)


@pytest.mark.parametrize("shows_steps", [True, False])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_that_hangs_is_found_in_three_seconds(rank, shows_steps):
    """The one that hangs, not those that wait for it; with 50 ms steps, one second of it is the examination."""
    training = Training(
        400, lambda step, each: math.inf if (step, each) == (300, rank) else 0.05, shows_steps=shows_steps
    )
    hangs = training.completed[299]
    examinations, verdict, hung = watched(training, hangs + 30)

    assert [each.rank for each in hung] == [rank]
    assert verdict - hangs <= 3
    assert len(examinations) == 1


def test_a_stopped_rank_is_said_within_seconds_however_long_steps_take():
    """Nothing is known of this training yet: its limit is ten minutes."""
    pages, process = progress.Pages(1), subprocess.Popen(("sleep", "60"))
    watch = Watch()
    watch.begin([Watched(0, process.pid, pages[0])], START_S)
    try:
        looks = [START_S + number * POLL_INTERVAL_S for number in range(1, 25)]
        assert [watch.poll(now) for now in looks[:-1]] == [None] * 23
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        (said,) = watch.poll(looks[-1]).ranks
    finally:
        process.kill()
        process.wait()

    assert (said["state"], said["limit_s"]) == ("T", STOPPED_S)


def test_a_rank_that_works_while_the_others_wait_is_not_hung():
    """Evaluation on rank 0 for 100 s every 400 steps: it is examined now and then, and let go on."""
    training = Training(1_000, lambda step, rank: 100 if rank == 0 and step % 400 == 399 else 0.05)
    examinations, verdict, _ = watched(training, training.end, works={0})

    assert verdict is None
    assert {rank for _, ranks in examinations for rank in ranks} == {0}
    assert len(examinations) < 2 * 12


def test_a_deadlock_of_all_is_found_by_the_long_limit():
    """Nobody is behind: a minute."""
    training = Training(400, lambda step, _: math.inf if step == 300 else 0.05)
    hangs = training.completed[299]
    _, verdict, hung = watched(training, hangs + 100)

    assert len(hung) == 4
    assert 60 <= verdict - hangs <= 63


def test_a_standstill_is_said_more_and_more_seldom():
    """A thousand hosts may wait for one that saves; when they move again that is said once."""
    training = Training(400, lambda step, _: 50 if step == 300 else 0.05)
    watch, page, times = Watch(), progress.Pages(1)[0], []
    watch.begin([Watched(0, os.getpid(), page)], START_S)
    for tick in range(int((training.end - START_S) / POLL_INTERVAL_S)):
        now = START_S + (tick + 1) * POLL_INTERVAL_S
        training.write(page, 0, now)
        still = watch.poll(now)
        times += [(now, bool(still.ranks))] if still else []

    assert [stands for _, stands in times].count(False) == 1
    assert not times[-1][1]
    assert 10 < len(times) < 40


def test_an_agent_that_was_not_let_run_blames_nobody():
    """It slept for 30 s together with a part of the ranks' time; what it did not see does not count."""
    training = Training(4_000, lambda *_: 0.05)

    assert watched(training, training.end, looks_late=[(START_S + 60, START_S + 90)])[:2] == ([], None)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), usual=st.floats(0.01, 3), spread=st.floats(1, 2.5), shows_steps=st.booleans()
)
def test_steps_of_uneven_length_are_no_hang(seed, usual, spread, shows_steps):
    """Also when ranks differ: the limit is eight times what is usual."""
    luck = random.Random(seed)
    training = Training(
        int(60 / usual), lambda *_: usual * luck.uniform(1 / spread, spread), shows_steps=shows_steps
    )

    assert watched(training, training.end)[1] is None


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), usual=st.floats(0.01, 3), rank=st.integers(0, 3))
def test_a_hang_is_found_whatever_the_pace(seed, usual, rank):
    """Within eight steps, one more since it is said again after an eighth of itself, looks, and three seconds."""
    luck = random.Random(seed)
    at = int(60 / usual)
    training = Training(
        at + 1, lambda step, each: math.inf if (step, each) == (at, rank) else usual * luck.uniform(0.8, 1.25)
    )
    hangs = training.completed[at - 1]
    _, verdict, hung = watched(training, hangs + 60)

    assert [each.rank for each in hung] == [rank]
    assert verdict - hangs <= 3 + 9 * (1.25 * usual + POLL_INTERVAL_S)


def test_a_look_reads_two_pages_and_no_file(monkeypatch):
    """Five times a second, for as long as the ranks move; what that takes is measured by bench/resilience."""
    pages, watch, looks, now = progress.Pages(EACH), Watch(), 0, START_S
    watch.begin([Watched(rank, os.getpid(), pages[rank]) for rank in range(EACH)], now)
    reads, opened = [], []
    # files of the kernel are opened where they are read, so that only `open` itself sees all of them
    monkeypatch.setattr("builtins.open", lambda *words, **_named: opened.append(words))
    monkeypatch.setattr(
        progress.Page, "read", lambda page, read=progress.Page.read: reads.append(page) or read(page)
    )
    while now < START_S + 60:
        now += max(watch.due(now), 0.01)
        for rank in range(EACH):
            pages[rank][progress.STEP] += 1
        assert watch.poll(now) is None
        looks += 1

    assert looks <= 60 / POLL_INTERVAL_S + 1
    assert (len(reads), opened) == (looks * EACH, [])
