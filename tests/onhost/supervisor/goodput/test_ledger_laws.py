"""Random but lawful histories of runs, and beside each the time of every bin, counted as it was made up."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.goodput.accounting import BINS, compute_accounting
from clusterwright.onhost.supervisor.goodput.timeline import SECOND

MOST_TICKS = 5 * SECOND


class History:
    """A run that is made up event by event; `bins` is GPU time in ticks."""

    def __init__(self, draw, ranks, hosts):
        self.draw, self.ranks, self.hosts = draw, ranks, hosts
        self.now, self.events, self.bins = 1_000 * SECOND, [], dict.fromkeys(BINS, 0)
        self.submitted, self.generation, self.number = self.now, 0, 0
        self.away, self.kept, self.wall_kept = set(), [], 0

    def some(self, least=0, most=MOST_TICKS):
        """A length of time, or a number."""
        return self.draw(st.integers(least, most))

    def say(self, event, **more):
        """An event of this moment."""
        line = {"time": self.now / SECOND, "event": event, "generation": self.generation, **more}
        self.events.append(line)

    def spend(self, name, members=None, ticks=None):
        """Time passes: for these hosts in the bin, for the others idle or away."""
        ticks = self.some() if ticks is None else ticks
        members = self.hosts if members is None else members
        for host in self.hosts:
            beside = "away" if host in self.away else "idle"
            self.bins[name if host in members else beside] += ticks * self.ranks
        self.now += ticks
        return ticks

    def step(self, number, members):
        """One step with the stall before it."""
        self.spend("stall", members)
        ticks = self.spend("step", members)
        self.say("step", rank=0, step=number, seconds=ticks / SECOND)
        self.kept.append((number, ticks, len(members) * self.ranks))

    def resume(self, number):
        """What lies beyond the step was in vain."""
        while self.kept and self.kept[-1][0] > number:
            _, ticks, gpus = self.kept.pop()
            self.bins["step"] -= ticks * gpus
            self.bins["lost work"] += ticks * gpus


def start(history, members):
    """Every rank comes up, in all the ways in which it says so; the last one counts."""
    world = range(len(members) * history.ranks)
    history.spend("launch", members)
    started = history.now / SECOND
    history.spend("import", members)
    for rank in world:
        history.say("process_start", rank=rank, started=started)
    history.spend("group", members)
    for rank in world:
        history.say("group_ready", rank=rank, world_size=len(world))
    history.spend("load", members)


@st.composite
def histories(draw):
    """One to three jobs of up to three generations."""
    ranks = draw(st.integers(1, 3))
    hosts = [f"host{number}" for number in range(1, 1 + draw(st.integers(1, 4)))]
    history = History(draw, ranks, hosts)
    jobs = draw(st.integers(1, 3))
    for number in range(1, jobs + 1):
        history.spend("queue")
        history.away = set()
        history.say("job_start", job_id=str(number), hosts=hosts, ranks=ranks)
        last = number == jobs
        _job(history, last=last)
        history.say("job_end", outcome="finished" if last else "handed-over")
    return history


def _job(history, *, last):
    generations = history.draw(st.integers(1, 3))
    gap = "launch"
    for place in range(1, generations + 1):
        there = [host for host in history.hosts if host not in history.away]
        members = there[: history.draw(st.integers(1, len(there)))]
        history.spend(gap, members)
        gap = "restart"
        final = last and place == generations
        over = _generation(history, members, final=final)
        if over == "host-lost" and place < generations and len(there) > 1:
            continue
        if place == generations:
            left = [host for host in members if host not in history.away]
            history.spend("finish" if over in ("finished", "stopped") else "restart", left)
            return
        history.away = set()
        for host in history.hosts:
            history.say("host_ready", ready=host)


def _generation(history, members, *, final):
    history.generation += 1
    history.say("generation_start", hosts=members)
    start(history, members)
    resumed = history.draw(st.integers(0, history.number))
    history.number = resumed
    count = history.draw(st.integers(1, 4))
    for place in range(count):
        history.number += 1
        if place == 0:
            history.resume(resumed)
            ticks = history.spend("step", members)
            history.say("step", rank=0, step=history.number, seconds=ticks / SECOND)
            history.kept.append((history.number, ticks, len(members) * history.ranks))
        else:
            history.step(history.number, members)
    ways = ["finished"] if final else ["stopped", "ranks-failed", "hung", "host-lost"]
    return _end(history, members, history.draw(st.sampled_from(ways)))


def _end(history, members, why):
    if why in ("finished", "stopped"):
        history.spend("finish", members)
    else:
        history.spend("lost work", members)
        detect = history.some()
        if why == "ranks-failed":
            history.say("rank_exit", rank=0, code=1, signal=9)
            history.spend("detect", members, detect)
        elif why == "hung":
            history.spend("detect", members, detect)
            history.say("rank_hung", rank=0, seconds=detect / SECOND)
        else:
            history.spend("detect", members, detect)
            history.say("host_lost", lost_host=members[-1], heartbeat_age_s=detect / SECOND)
    history.say("generation_end", reason=why)
    if why == "host-lost":
        history.away.add(members[-1])
    return why


@settings(max_examples=60, deadline=None)
@given(histories())
def test_the_ledger_is_the_history(history):
    """Every bin to the microsecond, whatever happened; and together the run's GPUs times its time."""
    ledger = compute_accounting(history.events, submitted=history.submitted / SECOND)

    assert ledger.bins == history.bins
    assert ledger.total == ledger.wall * len(history.hosts) * history.ranks


KINDS = ("job_start", "generation_start", "generation_end", "process_start", "group_ready", "resumed", "restored",
         "step", "rank_exit", "rank_hung", "host_lost", "host_ready", "standby", "failover", "job_end")  # fmt: skip
EVENT = st.fixed_dictionaries(
    {"event": st.sampled_from(KINDS), "time": st.floats(0, 100), "generation": st.integers(0, 3)},
    optional={
        "rank": st.integers(0, 3), "step": st.integers(0, 9), "seconds": st.floats(0, 50), "busy": st.floats(0, 50),
        "heartbeat_age_s": st.floats(0, 50), "started": st.floats(0, 100), "lost_host": st.sampled_from("abc"),
        "ready": st.sampled_from("abc"), "reason": st.sampled_from(("finished", "host-lost", "odd")),
        "hosts": st.lists(st.sampled_from("abc"), max_size=3), "job_id": st.sampled_from(("1", "2")),
        "outcome": st.sampled_from(("finished", "handed-over")), "world_size": st.integers(0, 6),
    },
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(EVENT, max_size=25), st.floats(0, 200))
def test_lawless_events_add_up_too(events, until):
    """Clocks that differ and lines that are missing: no time is counted twice, none is less than nothing."""
    hosts = ["a", "b", "c"]
    events = [
        {**event, "hosts": hosts, "ranks": 2} if event["event"] == "job_start" else event for event in events
    ]
    ledger = compute_accounting(json.loads(json.dumps(events)), end_time=until)

    assert ledger.total == ledger.wall * ledger.gpus
    assert min(ledger.bins.values()) >= 0
    assert set(ledger.bins) == set(BINS)
