"""Where every second of every GPU of a run went, worked out from its events alone.

Pure. Each second lies in one bin, and the bins of a run add up to its GPUs times its time, to the microsecond.
docs/concepts/ledger.md has the borders of each bin, and what the ledger cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from clusterwright.onhost.supervisor.ledger.timeline import (
    Attempt,
    Event,
    Job,
    Spans,
    created,
    jobs,
    tick,
    ticks,
)

# In the order in which they are shown.
BINS = {
    "step": "optimiser steps that were kept",
    "stall": "between two steps: saving, copying, evaluating",
    "lost work": "steps that were done again later, and the step that was under way at a fault",
    "detect": "from a fault until the generation was ended",
    "restart": "from the end of a generation to the start of the next",
    "launch": "from the start of a job or generation until every rank's process is there",
    "import": "while modules are loaded, ahead or by the ranks themselves",
    "group": "until all ranks are one process group",
    "load": "until the first step begins: model, data, checkpoint",
    "finish": "from the last step to the end: the last save, leaving",
    "idle": "hosts that stand ready as spares",
    "away": "hosts of the job that were lost and are not back",
    "queue": "jobs that wait for their hosts",
    "unknown": "ranks that write no events",
}


@dataclass
class Stretch:
    """Steps of one attempt that followed each other: how much time they took, on how many GPUs."""

    after: int  # the step that was complete when it began
    upto: int
    ticks: int
    gpus: int


@dataclass
class Ledger:
    """GPU time by bin, in microseconds, and what is worked out from the same walk through the events."""

    bins: Dict[str, int] = field(default_factory=lambda: dict.fromkeys(BINS, 0))
    begin: int = 0
    end: int = 0
    held: int = 0  # time in which the run held hosts
    gpus: int = 0  # of its last job
    kept: List[Stretch] = field(default_factory=list)
    estimated: bool = False  # some steps had to be taken to be as long as their neighbours

    @property
    def wall(self) -> int:
        """From the first submission to the end."""
        return self.end - self.begin

    @property
    def total(self) -> int:
        """GPU time of all bins."""
        return sum(self.bins.values())

    def put(self, name: str, amount: int, gpus: int) -> None:
        """So much time of so many GPUs."""
        self.bins[name] += amount * gpus


def reckon(
    events: Iterable[Event], *, submitted: Optional[float] = None, until: Optional[float] = None
) -> Ledger:
    """The ledger of a run; `until` is the present moment of one that has not ended."""
    return of_jobs(jobs(events, until), submitted)


def of_jobs(chain: Sequence[Job], submitted: Optional[float] = None) -> Ledger:
    """The ledger of the jobs of a run."""
    ledger = Ledger()
    if not chain:
        return ledger
    before = chain[0].begin if submitted is None else min(ticks(submitted), chain[0].begin)
    ledger.begin = before
    for job in chain:
        gpus = len(job.hosts) * job.ranks
        ledger.put("queue", job.begin - before, gpus)
        ledger.held += job.end - job.begin
        ledger.gpus = gpus
        _walk(ledger, job)
        before = job.end
    ledger.end = before
    return ledger


def _walk(ledger: Ledger, job: Job) -> None:
    """All of one job's time: what trains, what lies between two generations, and what stands beside."""
    at, gap = job.begin, "restart" if job.takeover else "launch"
    for generation in job.generations:
        members = set(generation.hosts)
        if gap == "launch":
            _period(ledger, job, (at, job.imports[0]), members, "launch")
            _period(ledger, job, job.imports, members, "import")
            at = job.imports[1]
        _period(ledger, job, (at, generation.begin), members, gap)
        gpus = len(generation.hosts) * job.ranks
        for attempt in generation.attempts:
            _attempt(ledger, attempt, gpus, going_on=not (generation.why or job.outcome))
        _beside(ledger, job, (generation.begin, generation.end), members)
        at, gap = generation.end, "restart"
    if job.generations and not job.generations[-1].attempts[-1].failed:
        gap = "finish"
    last = set(job.generations[-1].hosts) if job.generations else set(job.hosts)
    _period(ledger, job, (at, job.end), last, gap)


def _period(ledger: Ledger, job: Job, span: Tuple[int, int], members: Set[str], name: str) -> None:
    """A stretch without ranks: it belongs to the hosts that train next, or trained last."""
    here = {host for host in members if not _overlap(job.away.get(host, []), span)}
    ledger.put(name, span[1] - span[0], len(here) * job.ranks)
    _beside(ledger, job, span, here)


def _beside(ledger: Ledger, job: Job, span: Tuple[int, int], members: Set[str]) -> None:
    """The job's hosts that do not train: away, or idle."""
    for host in job.hosts:
        if host not in members:
            away = _overlap(job.away.get(host, []), span)
            ledger.put("away", away, job.ranks)
            ledger.put("idle", span[1] - span[0] - away, job.ranks)


def _overlap(spans: Spans, with_span: Tuple[int, int]) -> int:
    begin, end = with_span
    return sum(max(0, min(end, to) - max(begin, since)) for since, to in spans)


def _attempt(ledger: Ledger, attempt: Attempt, gpus: int, *, going_on: bool) -> None:
    """From the start of its ranks to its end."""
    end, steps = attempt.end, attempt.steps
    first = _begin_of_first_step(attempt)
    at, under_way = _starts(ledger, attempt, end if first is None else first, gpus)
    if first is not None:
        ledger.put(under_way, first - at, gpus)
        _forget_what_is_done_again(ledger, int(steps[0].get("step", 1)) - 1)
        at = _steps(ledger, attempt, first, gpus)
        under_way = "lost work" if attempt.failed else "step" if going_on else "finish"
    onset = fault(attempt, at) if attempt.failed else end
    ledger.put(under_way, onset - at, gpus)
    ledger.put("detect", end - onset, gpus)


def fault(attempt: Attempt, progress: int) -> int:
    """When the attempt broke, as near as its events tell, and not before its last progress."""
    if not attempt.faults:
        return progress
    silent = ("silence_s", "seconds")  # of host_lost and rank_hung: how long before it was said
    moments = [
        tick(event) - ticks(next((event[name] for name in silent if name in event), 0.0))
        for event in attempt.faults
    ]
    return min(max(min(moments), progress), attempt.end)


def _begin_of_first_step(attempt: Attempt) -> Optional[int]:
    """A step that does not say how long it took begins when the last rank was ready for it."""
    if not attempt.steps:
        return None
    step = attempt.steps[0]
    ready = max((tick(event) for event in attempt.starts if tick(event) <= tick(step)), default=attempt.begin)
    begun = tick(step) - ticks(step["seconds"]) if "seconds" in step else ready
    return min(max(begun, attempt.begin), tick(step), attempt.end)


def _starts(ledger: Ledger, attempt: Attempt, limit: int, gpus: int) -> Tuple[int, str]:
    """Everybody waits for the last rank; returns until when that is known, and what is under way from then on."""
    by_kind: Dict[str, List[Event]] = {}
    for event in attempt.starts:
        by_kind.setdefault(str(event["event"]), []).append(event)
    processes, groups = by_kind.get("process_start", []), by_kind.get("group_ready", [])
    loads = by_kind.get("resumed", []) + by_kind.get("restored", [])
    moments = (
        ("launch", "import", [created(event) for event in processes]),
        ("import", "group", [tick(event) for event in processes]),
        ("group", "load", [tick(event) for event in groups]),
        ("load", "load", [tick(event) for event in loads]),
    )
    at, under_way = attempt.begin, "launch" if attempt.starts or attempt.steps else "unknown"
    for name, following, known in moments:
        if known:
            moment = min(max(at, *known), limit)
            ledger.put(name, moment - at, gpus)
            at, under_way = moment, following
    return at, under_way


def _steps(ledger: Ledger, attempt: Attempt, first: int, gpus: int) -> int:
    """The time in steps is kept until it turns out to be lost; what lies between them is stall."""
    at, before = first, None  # type: int, Optional[Event]
    usual = _usual(attempt.steps)
    for step in attempt.steps:
        moment = min(max(at, tick(step)), attempt.end)
        number, elapsed = int(step.get("step", 0)), moment - at
        behind = number - 1 if before is None else int(before.get("step", 0))
        busy = elapsed if before is None else min(_busy(ledger, before, step, usual, elapsed), elapsed)
        ledger.put("step", busy, gpus)
        ledger.put("stall", elapsed - busy, gpus)
        ledger.kept.append(Stretch(behind, max(number, behind), busy, gpus))
        at, before = moment, step
    return at


def _busy(ledger: Ledger, before: Event, step: Event, usual: Optional[int], elapsed: int) -> int:
    """Time in steps between two step events; where steps lie between them that were not read, from the sum so far."""
    if "busy" in before and "busy" in step:
        return max(0, ticks(step["busy"]) - ticks(before["busy"]))
    count = int(step.get("step", 0)) - int(before.get("step", 0))
    if count <= 1:
        return ticks(step["seconds"]) if "seconds" in step else elapsed
    ledger.estimated = True
    return elapsed if usual is None else usual * count


def _usual(steps: Sequence[Event]) -> Optional[int]:
    lengths = sorted(ticks(step["seconds"]) for step in steps if "seconds" in step)
    return lengths[len(lengths) // 2] if lengths else None


def _forget_what_is_done_again(ledger: Ledger, resumed: int) -> None:
    """Steps beyond the one that the training goes on from were in vain the first time."""
    while ledger.kept and ledger.kept[-1].upto > resumed:
        last = ledger.kept[-1]
        count = last.upto - last.after
        again = min(count, last.upto - resumed)
        lost = last.ticks * again // count if count else 0
        ledger.put("step", -lost, last.gpus)
        ledger.put("lost work", lost, last.gpus)
        if again < count:
            last.upto, last.ticks = resumed, last.ticks - lost
            return
        ledger.kept.pop()
