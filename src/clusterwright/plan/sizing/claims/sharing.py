"""P7 and W3: head-room for several teams, and how busy a cluster can be."""

from __future__ import annotations

from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged
from clusterwright.plan.sizing.teams import erlang_c, shared

TEAMS, JOB_NODES, HEADROOM = 5, 4, 0.30
BEFORE, AFTER, FASTER = 0.60, 0.92, 0.40


def headroom() -> Checked:
    """30% for several teams: what it does for the queue."""
    free = shared(JOB_NODES, 12.0, TEAMS, HEADROOM)
    tight = [shared(JOB_NODES, 12.0, TEAMS, share) for share in (0.1, 0.2)]
    told = ", ".join(f"{each.headroom:.0%} free {_wait(each.wait_hours)}" for each in (*tight, free))
    # A job should wait for less than it runs; that is where the queue of a shared cluster stays short.
    enough = free.wait_hours < free.hours
    return Checked(
        "headroom-30", "P7", "Leave 30% of the cluster free for several teams",
        30.0, 100 * _least(), "%",
        f"{TEAMS} teams, each always with one training of {JOB_NODES} servers and 12 h",
        Verdict.AGREE if enough and abs(_least() - HEADROOM) <= 0.1 else Verdict.PARTLY,
        f"Mean wait: {told}. A wait below the run time takes {_least():.0%} free; with fewer or longer trainings at a "
        f"time it takes more, with many small ones less.",
    )  # fmt: skip


def _wait(hours: float) -> str:
    return "never ends" if hours > 1e6 else f"{hours:.0f} h"


def _least() -> float:
    """The least head-room, in hundredths, with which a training waits for less time than it runs."""
    tried = (percent / 100 for percent in range(100))
    return next(share for share in tried if shared(JOB_NODES, 12.0, TEAMS, share).wait_hours < 12.0)


def utilisation() -> Checked:
    """From 60% to 92% busy: the same work in two thirds of the time."""
    saved = 1 - BEFORE / AFTER
    slots = 16
    waits = erlang_c(slots, slots * AFTER)
    return Checked(
        "utilisation-92", "W3", "Utilisation from 60% to 92% with five groups; large vision models in 40% less time",
        100 * FASTER, 100 * saved, "%", "the same work on GPUs that are busy 92% of the time in place of 60%",
        judged(FASTER, saved),
        f"60 to 92% alone saves {saved:.0%} of the time. As the load of a queue, 92% of {slots} slots makes "
        f"{waits:.0%} of the trainings wait, for {1 / (slots * (1 - AFTER)) * waits:.0%} of a run time on average.",
    )  # fmt: skip
