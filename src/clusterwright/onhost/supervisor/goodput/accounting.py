"""GPU time of a run by bin, computed from its events alone.

Pure. Each second lies in one bin, and the bins of a run add up to its GPUs times its time, to the
microsecond. docs/concepts/ledger.md defines the borders of each bin, and what the events cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from clusterwright.onhost.supervisor.goodput.timeline import (
    Attempt,
    Event,
    JobTimeline,
    Spans,
    created,
    jobs,
    tick,
    ticks,
)

# In display order.
BINS = {
    "step": "optimizer steps that were not repeated",
    "stall": "between two steps: saving, copying, evaluating",
    "lost work": "steps that were repeated later, and the step in progress at a fault",
    "detect": "from a fault to the end of the generation",
    "restart": "from the end of a generation to the start of the next",
    "launch": "from the start of a job or generation until every rank's process has started",
    "import": "imports of modules, by the fork server or by the ranks",
    "group": "until all ranks are one process group",
    "load": "until the first step begins: model, data, checkpoint",
    "finish": "from the last step to the end: the last save, the exit",
    "idle": "standby hosts",
    "away": "lost hosts of the job until they rejoin",
    "queue": "pending jobs",
    "unknown": "ranks that write no events",
}


@dataclass
class Stretch:
    """Consecutive steps of one attempt: their numbers, the time in them, and the number of GPUs."""

    start_step: int  # the last complete step before the stretch
    upto: int
    ticks: int
    gpus: int


@dataclass
class Accounting:
    """GPU time of a run by bin (see BINS) in microseconds, and the stretches of steps that were not repeated."""

    bins: Dict[str, int] = field(default_factory=lambda: dict.fromkeys(BINS, 0))
    begin: int = 0
    end: int = 0
    allocated: int = 0  # time during which the run had hosts allocated
    gpus: int = 0  # of its last job
    stretches: List[Stretch] = field(default_factory=list)
    estimated: bool = False  # the duration of some steps is interpolated from others

    @property
    def wall(self) -> int:
        """Return the microseconds from the run's first submission to its end."""
        return self.end - self.begin

    @property
    def total(self) -> int:
        """Return the GPU time of all bins, in microseconds."""
        return sum(self.bins.values())

    def add(self, name: str, amount: int, gpus: int) -> None:
        """Add `amount` microseconds of `gpus` GPUs to a bin."""
        self.bins[name] += amount * gpus


def compute_accounting(
    events: Iterable[Event], *, submitted: Optional[float] = None, end_time: Optional[float] = None
) -> Accounting:
    """Return the accounting of a run's GPU time from its events.

    `end_time` is the present time for a run that has not ended, `submitted` that of its submission; epoch seconds.
    """
    return of_jobs(jobs(events, end_time), submitted)


def of_jobs(chain: Sequence[JobTimeline], submitted: Optional[float] = None) -> Accounting:
    """Return the accounting of a run's GPU time from the timelines of its jobs; `submitted`: epoch seconds.

    Empty without a job; without `submitted`, the time in the queue before the first job is 0.
    """
    accounting = Accounting()
    if not chain:
        return accounting
    previous_end = chain[0].begin if submitted is None else min(ticks(submitted), chain[0].begin)
    accounting.begin = previous_end
    for job in chain:
        gpus = len(job.hosts) * job.ranks
        accounting.add("queue", job.begin - previous_end, gpus)
        accounting.allocated += job.end - job.begin
        accounting.gpus = gpus
        _walk(accounting, job)
        previous_end = job.end
    accounting.end = previous_end
    return accounting


def _walk(accounting: Accounting, job: JobTimeline) -> None:
    """Add the GPU time of one job to the accounting: generations, gaps between them, hosts that do not train."""
    cursor, gap = job.begin, "restart" if job.is_failover else "launch"
    for generation in job.generations:
        members = set(generation.hosts)
        if gap == "launch":
            _period(accounting, job, (cursor, job.imports[0]), members, "launch")
            _period(accounting, job, job.imports, members, "import")
            cursor = job.imports[1]
        _period(accounting, job, (cursor, generation.begin), members, gap)
        gpus = len(generation.hosts) * job.ranks
        for attempt in generation.attempts:
            _attempt(accounting, attempt, gpus, going_on=not (generation.reason or job.outcome))
        _add_idle(accounting, job, (generation.begin, generation.end), members)
        cursor, gap = generation.end, "restart"
    if job.generations and not job.generations[-1].attempts[-1].failed:
        gap = "finish"
    last = set(job.generations[-1].hosts) if job.generations else set(job.hosts)
    _period(accounting, job, (cursor, job.end), last, gap)


def _period(
    accounting: Accounting, job: JobTimeline, span: Tuple[int, int], members: Set[str], name: str
) -> None:
    """Add a period without ranks to the bin `name` for `members`, the hosts that train next or trained last.

    The job's other hosts count as `away` or `idle`.
    """
    present_hosts = {host for host in members if not _overlap(job.absences.get(host, []), span)}
    accounting.add(name, span[1] - span[0], len(present_hosts) * job.ranks)
    _add_idle(accounting, job, span, present_hosts)


def _add_idle(accounting: Accounting, job: JobTimeline, span: Tuple[int, int], members: Set[str]) -> None:
    """Add the span for the job's hosts that are not in `members`: as `away` while lost, else as `idle`."""
    for host in job.hosts:
        if host not in members:
            absent_ticks = _overlap(job.absences.get(host, []), span)
            accounting.add("away", absent_ticks, job.ranks)
            accounting.add("idle", span[1] - span[0] - absent_ticks, job.ranks)


def _overlap(spans: Spans, with_span: Tuple[int, int]) -> int:
    begin, end = with_span
    return sum(max(0, min(end, to) - max(begin, start)) for start, to in spans)


def _attempt(accounting: Accounting, attempt: Attempt, gpus: int, *, going_on: bool) -> None:
    """Add the GPU time of one attempt, from the start of its ranks to its end, to the bins of the accounting.

    `going_on` means that the attempt still runs.
    """
    end, steps = attempt.end, attempt.steps
    first_begin = _begin_of_first_step(attempt)
    cursor, current_bin = _starts(accounting, attempt, end if first_begin is None else first_begin, gpus)
    if first_begin is not None:
        accounting.add(current_bin, first_begin - cursor, gpus)
        _discard_repeated_steps(accounting, int(steps[0].get("step", 1)) - 1)
        cursor = _steps(accounting, attempt, first_begin, gpus)
        current_bin = "lost work" if attempt.failed else "step" if going_on else "finish"
    onset = fault(attempt, cursor) if attempt.failed else end
    accounting.add(current_bin, onset - cursor, gpus)
    accounting.add("detect", end - onset, gpus)


def fault(attempt: Attempt, progress: int) -> int:
    """Return when the attempt's first fault happened, in ticks; `progress`, the last progress, if no event has one.

    Events of lost hosts and hung ranks are later than the fault, and say by how much.
    """
    if not attempt.faults:
        return progress
    delay_keys = ("heartbeat_age_s", "seconds")  # of host_lost and rank_hung: seconds between fault and event
    moments = [
        tick(event) - ticks(next((event[name] for name in delay_keys if name in event), 0.0))
        for event in attempt.faults
    ]
    return min(max(min(moments), progress), attempt.end)


def _begin_of_first_step(attempt: Attempt) -> Optional[int]:
    """Return when the attempt's first step began, in ticks; None without a step.

    Without the step's duration: when the last rank was ready for it.
    """
    if not attempt.steps:
        return None
    step = attempt.steps[0]
    ready = max((tick(event) for event in attempt.starts if tick(event) <= tick(step)), default=attempt.begin)
    begun = tick(step) - ticks(step["seconds"]) if "seconds" in step else ready
    return min(max(begun, attempt.begin), tick(step), attempt.end)


def _starts(accounting: Accounting, attempt: Attempt, limit: int, gpus: int) -> Tuple[int, str]:
    """Add the time until the ranks train to the bins launch, import, group and load.

    Return when that ended, in ticks, and the bin of the phase after it. A phase ends when the last rank has ended it,
    and at `limit` at the latest.
    """
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
    cursor, current_bin = attempt.begin, "launch" if attempt.starts or attempt.steps else "unknown"
    for name, following, event_ticks in moments:
        if event_ticks:
            moment = min(max(cursor, *event_ticks), limit)
            accounting.add(name, moment - cursor, gpus)
            cursor, current_bin = moment, following
    return cursor, current_bin


def _steps(accounting: Accounting, attempt: Attempt, first_begin: int, gpus: int) -> int:
    """Add an attempt's time in steps to `step` and that between them to `stall`; return the last step's end in ticks.

    `_discard_repeated_steps` moves steps that a later attempt repeats to `lost work`.
    """
    cursor, previous = first_begin, None  # type: int, Optional[Event]
    usual = _usual(attempt.steps)
    for step in attempt.steps:
        moment = min(max(cursor, tick(step)), attempt.end)
        number, elapsed = int(step.get("step", 0)), moment - cursor
        start_step = number - 1 if previous is None else int(previous.get("step", 0))
        busy = (
            elapsed if previous is None else min(_busy(accounting, previous, step, usual, elapsed), elapsed)
        )
        accounting.add("step", busy, gpus)
        accounting.add("stall", elapsed - busy, gpus)
        accounting.stretches.append(Stretch(start_step, max(number, start_step), busy, gpus))
        cursor, previous = moment, step
    return cursor


def _busy(accounting: Accounting, previous: Event, step: Event, usual: Optional[int], elapsed: int) -> int:
    """Return the time in steps between two step events, by their running sums; else by durations, or an estimate.

    An estimate (`usual` time per step) sets `accounting.estimated`.
    """
    if "busy" in previous and "busy" in step:
        return max(0, ticks(step["busy"]) - ticks(previous["busy"]))
    count = int(step.get("step", 0)) - int(previous.get("step", 0))
    if count <= 1:
        return ticks(step["seconds"]) if "seconds" in step else elapsed
    accounting.estimated = True
    return elapsed if usual is None else usual * count


def _usual(steps: Sequence[Event]) -> Optional[int]:
    lengths = sorted(ticks(step["seconds"]) for step in steps if "seconds" in step)
    return lengths[len(lengths) // 2] if lengths else None


def _discard_repeated_steps(accounting: Accounting, resumed: int) -> None:
    """Move the time of steps beyond `resumed`, from which the training resumed, from `step` to `lost work`."""
    while accounting.stretches and accounting.stretches[-1].upto > resumed:
        last = accounting.stretches[-1]
        count = last.upto - last.start_step
        repeat_count = min(count, last.upto - resumed)
        lost_ticks = last.ticks * repeat_count // count if count else 0
        accounting.add("step", -lost_ticks, last.gpus)
        accounting.add("lost work", lost_ticks, last.gpus)
        if repeat_count < count:
            last.upto, last.ticks = resumed, last.ticks - lost_ticks
            return
        accounting.stretches.pop()
