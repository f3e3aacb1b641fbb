"""A run's events as jobs, generations and attempts, on one time axis of whole microseconds.

Pure and tolerant: an event without a time, or one that contradicts earlier ones, is skipped or clipped.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

Event = Mapping[str, Any]
Spans = List[Tuple[int, int]]

SECOND = 1_000_000  # ticks; integers, so that parts add up exactly
# The order in which a rank writes them; a repeated one begins another attempt (a restart by torchrun).
STARTS = {"process_start": 0, "group_ready": 1, "restored": 2, "resumed": 2}
FAULTS = ("rank_exit", "rank_hung", "host_lost")
# Ends of a generation: requested ones, and failures.
PLANNED = ("finished", "stopped")
FAILED = ("host-lost", "ranks-failed", "hung")
MOST_SHARED = 20  # generations of an event, on average; really one, or two at the time of a restart


@dataclass
class Attempt:
    """One start of all ranks of a generation, until its end or their next start, in ticks, with its events."""

    begin: int
    end: int
    failed: bool = False
    starts: List[Event] = field(default_factory=list)
    steps: List[Event] = field(default_factory=list)
    faults: List[Event] = field(default_factory=list)


@dataclass
class Generation:
    """One generation: a set of hosts that trained together, from its start to its end, in ticks."""

    number: int
    hosts: Tuple[str, ...]
    begin: int
    end: int
    reason: str = ""  # of its generation_end event; empty without one
    attempts: List[Attempt] = field(default_factory=list)


@dataclass
class JobTimeline:
    """One job of the run's chain in ticks, from the start of its supervisor to its end."""

    job_id: str
    hosts: Tuple[str, ...]
    ranks: int  # GPUs per host
    begin: int
    end: int
    outcome: str = ""
    is_truncated: bool = False  # it wrote no job_end before the next job began
    is_failover: bool = False  # another supervisor inside the same Slurm job
    generations: List[Generation] = field(default_factory=list)
    absences: Dict[str, Spans] = field(default_factory=dict)
    imports: Tuple[int, int] = (0, 0)  # imports of the fork servers before the first generation


def jobs(events: Iterable[Event], end_time: Optional[float] = None) -> List[JobTimeline]:
    """Return the timelines of a run's jobs in order; `end_time` is the present time for a run that has not ended."""
    ordered_events = ordered(events)
    starts = [index for index, event in enumerate(ordered_events) if event["event"] == "job_start"]
    chain: List[JobTimeline] = []
    for position, begin in enumerate(starts):
        last = position + 1 == len(starts)
        inside = ordered_events[begin : None if last else starts[position + 1]]
        limit = _end(ordered_events, end_time) if last else tick(ordered_events[starts[position + 1]])
        job = _job(inside, limit, is_truncated=not last)
        job.is_failover = bool(chain) and chain[-1].is_truncated and chain[-1].job_id == job.job_id
        chain.append(job)
    return chain


def ordered(events: Iterable[Event]) -> List[Event]:
    """Return the events that have a time and a kind, sorted by time."""
    valid_events = [
        event for event in events if isinstance(event.get("time"), (int, float)) and event.get("event")
    ]
    return sorted(valid_events, key=lambda event: float(event["time"]))


def tick(event: Event) -> int:
    """Return the time of an event in ticks (whole microseconds)."""
    return ticks(event["time"])


def ticks(seconds: float) -> int:
    """Return seconds as ticks (whole microseconds)."""
    return round(float(seconds) * SECOND)


def format_seconds(seconds: float) -> str:
    """Return a short time as text: 42 ms or 1.3 s."""
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def created(event: Event) -> int:
    """Return when the process of a `process_start` was created, in ticks; for other events, when they were written."""
    return ticks(event.get("started", event["time"]))


def _end(ordered_events: Sequence[Event], end_time: Optional[float]) -> int:
    """Return when the last job ends, in ticks: at the last event, or at `end_time` if that is later."""
    return tick(ordered_events[-1]) if end_time is None else max(tick(ordered_events[-1]), ticks(end_time))


def _job(inside: Sequence[Event], limit: int, *, is_truncated: bool) -> JobTimeline:
    """Return the timeline of one job from its events, of which the first is its job_start.

    Without a job_end it ends at `limit` (ticks).
    """
    start = inside[0]
    ending = next((event for event in inside if event["event"] == "job_end"), None)
    job = JobTimeline(
        str(start.get("job_id", "")),
        _names(start),
        int(start.get("ranks") or 0),
        tick(start),
        tick(ending) if ending else limit,
        str(ending.get("outcome", "")) if ending else "",
        is_truncated=is_truncated and ending is None,
    )
    job_events = [event for event in inside if tick(event) <= job.end]
    _generations(job, job_events)
    job.ranks = job.ranks or _ranks(job)
    job.imports = _imports(job, job_events)
    job.absences = _absences(job, job_events)
    return job


def _imports(job: JobTimeline, events: Sequence[Event]) -> Tuple[int, int]:
    """Return the span in which fork servers import modules, before the first generation; empty span without any."""
    limit = job.generations[0].begin if job.generations else job.end
    ready = [event for event in events if event["event"] == "standby" and "seconds" in event]
    spans = [(tick(event) - ticks(event["seconds"]), tick(event)) for event in ready]
    begun = [begin for begin, _ in spans if begin < limit]
    if not begun:
        return job.begin, job.begin
    begin = max(job.begin, min(begun))
    return begin, max(begin, min(limit, max(end for _, end in spans)))


def _names(event: Event) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(str(host) for host in event.get("hosts") or ()))


def _generations(job: JobTimeline, events: Sequence[Event]) -> None:
    """Add its generations to the job's timeline, each from its start to its end or to the next start.

    Raises:
        ValueError: too many begin at the same time.
    """
    by_number: Dict[int, List[Event]] = {}
    for event in events:
        by_number.setdefault(int(event.get("generation") or 0), []).append(event)
    ticks_by_number = {number: [tick(event) for event in inside] for number, inside in by_number.items()}
    starts = [event for event in events if event["event"] == "generation_start"]
    events_left = MOST_SHARED * len(events)
    for index, start in enumerate(starts):
        last = index + 1 == len(starts)
        limit = job.end if last else tick(starts[index + 1])
        number, begin = int(start.get("generation") or 0), tick(start)
        times = ticks_by_number[number]
        generation_events = by_number[number][bisect_left(times, begin) : bisect_right(times, limit)]
        events_left -= len(generation_events)
        if events_left < 0:  # at one moment each generation would contain the events of all others
            raise ValueError("too many generations begin at the same time")
        ending = next(
            (event for event in generation_events if event["event"] in ("generation_end", "failover")), None
        )
        generation = Generation(
            number,
            tuple(host for host in _names(start) if host in job.hosts),
            begin,
            tick(ending) if ending else limit,
            _why(ending),
        )
        generation.attempts = _attempts(generation, generation_events)
        last_attempt = generation.attempts[-1]
        last_attempt.faults += _missed(ending, generation_events)
        over = generation.reason or (job.outcome if last else "cut")
        last_attempt.failed = over not in PLANNED and (
            bool(last_attempt.faults) or over in FAILED or over == "cut" or (last and job.is_truncated)
        )
        job.generations.append(generation)


def _why(ending: Optional[Event]) -> str:
    """Return the reason of a generation's end event; `host-lost` for a failover, "" without an event."""
    if ending is None:
        return ""
    return "host-lost" if ending["event"] == "failover" else str(ending.get("reason", ""))


def _missed(ending: Optional[Event], events: Sequence[Event]) -> List[Event]:
    """Return the `host_lost` event of the supervisor's host if a failover ended the generation; else an empty list.

    The next supervisor writes that event after the failover.
    """
    if ending is None or ending["event"] != "failover":
        return []
    return [event for event in events if event["event"] == "host_lost" and tick(event) >= tick(ending)][:1]


def _attempts(generation: Generation, events: Sequence[Event]) -> List[Attempt]:
    """Return the attempts of a generation; another one begins when a rank starts that had started before."""
    attempts = [Attempt(generation.begin, generation.end)]
    written: Set[Tuple[str, Any]] = set()
    phase_by_rank: Dict[Any, int] = {}
    for event in (event for event in events if tick(event) <= generation.end):
        kind, rank = event["event"], event.get("rank")
        if kind in STARTS:
            # `restored` and `resumed` may both occur, each once
            if STARTS[kind] < phase_by_rank.get(rank, -1) or (kind, rank) in written:
                split = min(max(created(event), attempts[-1].begin), generation.end)
                attempts[-1].end, attempts[-1].failed = split, True
                attempts.append(Attempt(split, generation.end))
                phase_by_rank, written = {}, set()
            written.add((kind, rank))
            phase_by_rank[rank] = STARTS[kind]
            attempts[-1].starts.append(event)
        elif kind == "step":
            attempts[-1].steps.append(event)
        elif kind in FAULTS and event.get("code", 1) != 0:
            attempts[-1].faults.append(event)
    return attempts


def _ranks(job: JobTimeline) -> int:
    """Return the ranks (GPUs) per host, by world size or by the ranks that wrote events; 1 if unknown."""
    most = 1
    for generation in job.generations:
        starts = [event for attempt in generation.attempts for event in attempt.starts]
        sizes = [int(event.get("world_size") or 0) for event in starts]
        sizes += [1 + event["rank"] for event in starts if isinstance(event.get("rank"), int)]
        if generation.hosts and sizes:
            most = max(most, max(sizes) // len(generation.hosts))
    return most


def _absences(job: JobTimeline, events: Sequence[Event]) -> Dict[str, Spans]:
    """Return by host the spans from each loss of the host until it trains again or reports ready."""
    absences: Dict[str, Spans] = {host: [] for host in job.hosts}
    lost: Dict[str, int] = {}
    for event in events:
        kind = event["event"]
        host = event.get("lost_host") if kind == "host_lost" else None
        if isinstance(host, str) and host in absences:
            lost.setdefault(host, tick(event))
        back = [event.get("ready")] if kind == "host_ready" else []
        if kind == "generation_start":
            back = event.get("hosts") or []
        for name in back if lost else ():
            if isinstance(name, str) and name in lost:
                absences[name].append((lost.pop(name), tick(event)))
    for host, lost_at in lost.items():
        absences[host].append((lost_at, job.end))
    return absences
