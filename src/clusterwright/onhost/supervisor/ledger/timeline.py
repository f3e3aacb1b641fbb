"""What a run did when: its events as jobs, generations and attempts, on one axis of whole microseconds.

Pure, and lenient: an event that lacks its time, or that contradicts what came before, is passed over or cut to size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

Event = Mapping[str, Any]
Spans = List[Tuple[int, int]]

SECOND = 1_000_000  # ticks; whole numbers, so that what is cut into pieces adds up again
# The order in which a rank writes them; one that comes again begins another attempt (a restart by torchrun).
STARTS = {"process_start": 0, "group_ready": 1, "restored": 2, "resumed": 2}
FAULTS = ("rank_exit", "rank_hung", "host_lost")
# Ends of a generation: those that somebody asked for, and those that nobody did.
PLANNED = ("finished", "stopped")
FAILED = ("host-lost", "ranks-failed", "hung")


@dataclass
class Attempt:
    """One start of all ranks of a generation, until its end or until they start again."""

    begin: int
    end: int
    failed: bool = False
    starts: List[Event] = field(default_factory=list)
    steps: List[Event] = field(default_factory=list)
    faults: List[Event] = field(default_factory=list)


@dataclass
class Generation:
    """A set of hosts that train together."""

    number: int
    hosts: Tuple[str, ...]
    begin: int
    end: int
    why: str = ""  # as its generation_end says; empty for one that has none
    attempts: List[Attempt] = field(default_factory=list)


@dataclass
class Job:
    """One job of the chain, from the start of its supervisor to its end."""

    job_id: str
    hosts: Tuple[str, ...]
    ranks: int  # GPUs of each host
    begin: int
    end: int
    outcome: str = ""
    cut: bool = False  # it did not say that it ended, and another one has begun
    takeover: bool = False  # by another supervisor inside the same Slurm job
    generations: List[Generation] = field(default_factory=list)
    away: Dict[str, Spans] = field(default_factory=dict)
    imports: Tuple[int, int] = (
        0,
        0,
    )  # while the fork servers of its hosts import, before its first generation


def jobs(events: Iterable[Event], until: Optional[float] = None) -> List[Job]:
    """The jobs in their order; `until` is the present moment of a run that has not ended."""
    known = ordered(events)
    starts = [index for index, event in enumerate(known) if event["event"] == "job_start"]
    found: List[Job] = []
    for place, begin in enumerate(starts):
        last = place + 1 == len(starts)
        inside = known[begin : None if last else starts[place + 1]]
        limit = _end(known, until) if last else tick(known[starts[place + 1]])
        job = _job(inside, limit, cut=not last)
        job.takeover = bool(found) and found[-1].cut and found[-1].job_id == job.job_id
        found.append(job)
    return found


def ordered(events: Iterable[Event]) -> List[Event]:
    """The events that have a time and a name, by time."""
    whole = [event for event in events if isinstance(event.get("time"), (int, float)) and event.get("event")]
    return sorted(whole, key=lambda event: float(event["time"]))


def tick(event: Event) -> int:
    """When it happened."""
    return ticks(event["time"])


def ticks(seconds: float) -> int:
    """Seconds as whole microseconds."""
    return round(float(seconds) * SECOND)


def created(event: Event) -> int:
    """When the process of a `process_start` was made; of another event, when it was written."""
    return ticks(event.get("started", event["time"]))


def _end(known: Sequence[Event], until: Optional[float]) -> int:
    """Now, or the last that was heard."""
    return tick(known[-1]) if until is None else max(tick(known[-1]), ticks(until))


def _job(inside: Sequence[Event], limit: int, *, cut: bool) -> Job:
    """The job that the first event starts."""
    start = inside[0]
    ending = next((event for event in inside if event["event"] == "job_end"), None)
    job = Job(
        str(start.get("job_id", "")),
        _names(start),
        int(start.get("ranks") or 0),
        tick(start),
        tick(ending) if ending else limit,
        str(ending.get("outcome", "")) if ending else "",
        cut=cut and ending is None,
    )
    own = [event for event in inside if tick(event) <= job.end]
    _generations(job, own)
    job.ranks = job.ranks or _ranks(job)
    job.imports = _imports(job, own)
    job.away = {host: _away(host, job, own) for host in job.hosts}
    return job


def _imports(job: Job, events: Sequence[Event]) -> Tuple[int, int]:
    """From the first fork server's start to when the last was ready; each says how long its imports took."""
    until = job.generations[0].begin if job.generations else job.end
    ready = [event for event in events if event["event"] == "standby" and "seconds" in event]
    spans = [(tick(event) - ticks(event["seconds"]), tick(event)) for event in ready]
    begun = [begin for begin, _ in spans if begin < until]
    if not begun:
        return job.begin, job.begin
    begin = max(job.begin, min(begun))
    return begin, max(begin, min(until, max(end for _, end in spans)))


def _names(event: Event) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(str(host) for host in event.get("hosts") or ()))


def _generations(job: Job, events: Sequence[Event]) -> None:
    """Each from its start to its end, or to whatever shows that it is over."""
    by_number: Dict[int, List[Event]] = {}
    for event in events:
        by_number.setdefault(int(event.get("generation") or 0), []).append(event)
    starts = [event for event in events if event["event"] == "generation_start"]
    for place, start in enumerate(starts):
        last = place + 1 == len(starts)
        limit = job.end if last else tick(starts[place + 1])
        number, begin = int(start.get("generation") or 0), tick(start)
        own = [event for event in by_number[number] if begin <= tick(event) <= limit]
        ending = next((event for event in own if event["event"] in ("generation_end", "takeover")), None)
        generation = Generation(
            number,
            tuple(host for host in _names(start) if host in job.hosts),
            begin,
            tick(ending) if ending else limit,
            _why(ending),
        )
        generation.attempts = _attempts(generation, own)
        last_attempt = generation.attempts[-1]
        last_attempt.faults += _missed(ending, own)
        over = generation.why or (job.outcome if last else "cut")
        last_attempt.failed = over not in PLANNED and (
            bool(last_attempt.faults) or over in FAILED or over == "cut" or (last and job.cut)
        )
        job.generations.append(generation)


def _why(ending: Optional[Event]) -> str:
    """Of a generation whose supervisor was lost, another one writes no end, but that it took over."""
    if ending is None:
        return ""
    return "host-lost" if ending["event"] == "takeover" else str(ending.get("why", ""))


def _missed(ending: Optional[Event], events: Sequence[Event]) -> List[Event]:
    """The lost host of the supervisor, which the next one writes down when it has taken over."""
    if ending is None or ending["event"] != "takeover":
        return []
    return [event for event in events if event["event"] == "host_lost" and tick(event) >= tick(ending)][:1]


def _attempts(generation: Generation, events: Sequence[Event]) -> List[Attempt]:
    """Another one begins when a rank starts that had started before."""
    found = [Attempt(generation.begin, generation.end)]
    seen: Dict[Any, int] = {}
    for event in (event for event in events if tick(event) <= generation.end):
        kind, rank = event["event"], event.get("rank")
        if kind in STARTS:
            if STARTS[kind] < seen.get(rank, -1) or (
                STARTS[kind] == seen.get(rank) and _again(found[-1], event)
            ):
                cut = min(max(created(event), found[-1].begin), generation.end)
                found[-1].end, found[-1].failed = cut, True
                found.append(Attempt(cut, generation.end))
                seen = {}
            seen[rank] = STARTS[kind]
            found[-1].starts.append(event)
        elif kind == "step":
            found[-1].steps.append(event)
        elif kind in FAULTS and event.get("code", 1) != 0:
            found[-1].faults.append(event)
    return found


def _again(attempt: Attempt, event: Event) -> bool:
    """True when this rank has written this very kind in the attempt: `restored` and `resumed` may both stand there."""
    return any(
        one["event"] == event["event"] and one.get("rank") == event.get("rank") for one in attempt.starts
    )


def _ranks(job: Job) -> int:
    """GPUs of a host, from the size of the group that the ranks formed, or from the ranks that wrote; else 1."""
    most = 1
    for generation in job.generations:
        starts = [event for attempt in generation.attempts for event in attempt.starts]
        sizes = [int(event.get("world_size") or 0) for event in starts]
        sizes += [1 + event["rank"] for event in starts if isinstance(event.get("rank"), int)]
        if generation.hosts and sizes:
            most = max(most, max(sizes) // len(generation.hosts))
    return most


def _away(host: str, job: Job, events: Sequence[Event]) -> Spans:
    """From each loss until it trains again or says that it is ready."""
    found: Spans = []
    gone: Optional[int] = None
    for event in events:
        kind = event["event"]
        if kind == "host_lost" and event.get("lost") == host and gone is None:
            gone = tick(event)
        back = (kind == "host_ready" and event.get("ready") == host) or (
            kind == "generation_start" and host in event.get("hosts", ())
        )
        if back and gone is not None:
            found.append((gone, tick(event)))
            gone = None
    return [*found, (gone, job.end)] if gone is not None else found
