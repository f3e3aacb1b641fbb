"""Compute what each host (or, on one machine, each rank) did when: the rows of the timeline. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clusterwright.config.names import expand
from clusterwright.lab.demo.event_metrics import checkpoints
from clusterwright.lab.demo.events import DemoEvent

Doing = Literal["spare", "starting", "training", "waiting", "down", "booting", "back"]


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A period in which a host or rank did one thing; seconds since the job's start."""

    doing: Doing
    start: float
    end: float
    generation: int


@dataclass(frozen=True, slots=True)
class Marker:
    """An event at one moment; seconds since the job's start."""

    what: Literal["fault", "lost", "checkpoint", "resumed", "finished"]
    time: float
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the timeline: a host or rank, and what it did when."""

    place: str
    spans: tuple[LaneSpan, ...]


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """The injected fault, and when the host was powered up and rejoined Slurm."""

    kind: str
    host: str
    rank: int | None
    time: float
    undone_time: float | None = None
    joined_time: float | None = None


@dataclass(frozen=True, slots=True)
class _Round:
    """One attempt of a process group at the training: its members, start, first step and end."""

    places: frozenset[str]
    generation: int
    start: float
    ready: float | None
    end: float


def origin(events: Sequence[DemoEvent]) -> float:
    """Return the time of the first event, which counts as zero; 0 without events."""
    return min((event.time for event in events), default=0.0)


def lanes(
    events: Sequence[DemoEvent], places: Sequence[str], fault: InjectedFault | None
) -> tuple[Lane, ...]:
    """Return one row of the timeline per place, in the given order; places are hosts, or ranks on one machine."""
    zero = origin(events)
    by_rank = all(worker.startswith(place_of("")) for worker in places)
    rounds = tuple(_attempts(events) if by_rank else _generations(events))
    return tuple(
        Lane(worker, tuple(_shifted(_spans(worker, rounds, events, fault), zero))) for worker in places
    )


def markers(events: Sequence[DemoEvent], fault: InjectedFault | None) -> tuple[Marker, ...]:
    """Return what the timeline marks, in order of time: checkpoints, lost hosts, resumes, the end and the fault.

    Times are seconds since the first event.
    """
    zero = origin(events)
    entries = [Marker("checkpoint", event.time - zero, event.step) for event in checkpoints(events)]
    entries += [Marker("lost", event.time - zero) for event in events if event.kind == "host_lost"]
    entries += [
        Marker("resumed", event.time - zero, event.step) for event in _first_after_start(events, "resumed")
    ]
    entries += [
        Marker("finished", event.time - zero, event.step) for event in events if event.kind == "finished"
    ][:1]
    if fault:
        entries.append(Marker("fault", fault.time - zero))
    return tuple(sorted((marker for marker in entries if marker.step != 0), key=lambda marker: marker.time))


def place_of(rank: int | str) -> str:
    """Return the name under which the timeline of a demo on one machine shows a rank."""
    return f"rank {rank}"


def _spans(
    worker: str, rounds: Sequence[_Round], events: Sequence[DemoEvent], fault: InjectedFault | None
) -> Iterator[LaneSpan]:
    end = max((event.time for event in events), default=0.0)
    hit = fault is not None and worker in (fault.host, place_of(fault.rank) if fault.rank is not None else "")
    idle_from = origin(events)
    is_reserved = worker in _job_hosts(events) and not hit
    for attempt in rounds:
        if worker not in attempt.places:
            continue
        if is_reserved and attempt is not rounds[0] and idle_from == origin(events):
            yield LaneSpan("spare", idle_from, attempt.start, attempt.generation)
        yield from _attempt_spans(attempt, fault, hit=hit)
        idle_from = attempt.end
    if is_reserved and not any(worker in attempt.places for attempt in rounds):
        yield LaneSpan("spare", idle_from, end, 0)
    if fault and hit:
        yield from _downtime_spans(worker, fault, rounds, end)


def _job_hosts(events: Sequence[DemoEvent]) -> frozenset[str]:
    """Return the hosts of all jobs of the run, those that train and those that stand by."""
    return frozenset(host for event in events if event.kind == "job_start" for host in _hosts(event))


def _hosts(event: DemoEvent) -> tuple[str, ...]:
    """Return the hosts that an event names, as a list or a hostlist expression."""
    hosts = event.more.get("hosts", ())
    return expand(hosts) if isinstance(hosts, str) else tuple(hosts)


def _attempt_spans(attempt: _Round, fault: InjectedFault | None, *, hit: bool) -> Iterator[LaneSpan]:
    ready = attempt.end if attempt.ready is None else attempt.ready
    broken = fault.time if fault and attempt.start < fault.time < attempt.end else attempt.end
    yield LaneSpan("starting", attempt.start, min(ready, broken), attempt.generation)
    if ready < broken:
        yield LaneSpan("training", ready, broken, attempt.generation)
    if broken < attempt.end and not hit:
        yield LaneSpan("waiting", broken, attempt.end, attempt.generation)


def _downtime_spans(
    worker: str, fault: InjectedFault, rounds: Sequence[_Round], end: float
) -> Iterator[LaneSpan]:
    restart = next(
        (attempt.start for attempt in rounds if worker in attempt.places and attempt.start > fault.time), None
    )
    if restart is not None:
        yield LaneSpan("down", fault.time, restart, 0)
        return
    undone, joined = fault.undone_time, fault.joined_time
    yield LaneSpan("down", fault.time, undone or max(end, fault.time), 0)
    if undone:
        yield LaneSpan("booting", undone, joined or max(end, undone), 0)
    if joined and joined < end:
        yield LaneSpan("back", joined, end, 0)


def _generations(events: Sequence[DemoEvent]) -> list[_Round]:
    """Return the attempts of a run with a supervisor (its generations); empty without a supervisor."""
    starts = [event for event in events if event.kind == "generation_start"]
    last = max((event.time for event in events), default=0.0)
    rounds = []
    for number, event in enumerate(starts):
        generation = event.generation
        ends = [
            end.time
            for end in events
            if end.kind == "generation_end" and end.generation == generation and end.time > event.time
        ]
        ends += [starts[number + 1].time] if number + 1 < len(starts) else [last]
        ready = _ready(events, event.time, min(ends))
        rounds.append(_Round(frozenset(_hosts(event)), generation, event.time, ready, min(ends)))
    return rounds


def _attempts(events: Sequence[DemoEvent]) -> list[_Round]:
    """Return the attempts of ranks without a supervisor, by each rank's n-th start; none if no rank started."""
    starts: dict[int, list[float]] = {}
    for event in events:
        if event.kind == "process_start" and event.rank is not None:
            starts.setdefault(event.rank, []).append(float(event.more.get("started", event.time)))
    if not starts:
        return []
    last = max(event.time for event in events)
    begins = [
        min(times[n] for times in starts.values() if n < len(times))
        for n in range(max(map(len, starts.values())))
    ]
    ends = [*begins[1:], last]
    return [
        _Round(
            frozenset(place_of(rank) for rank, times in starts.items() if n < len(times)),
            n,
            begin,
            _ready(events, begin, end),
            end,
        )
        for n, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]


def _ready(events: Sequence[DemoEvent], start: float, end: float) -> float | None:
    """Return when the first step between two times began; None if no process group formed.

    Text and checkpoint are read after the ranks have joined; without a step, when the group formed.
    """
    inside = [event for event in events if start <= event.time <= end]
    met = max((event.time for event in inside if event.kind == "group_ready"), default=None)
    steps = [event.time - float(event.more.get("seconds", 0)) for event in inside if event.kind == "step"]
    return met if met is None else max([met, *steps[:1]])


def _first_after_start(events: Iterable[DemoEvent], kind: str) -> Iterator[DemoEvent]:
    """Yield the first event of the kind after each start of ranks."""
    fresh = True
    for event in events:
        fresh = fresh or event.kind == "process_start"
        if event.kind == kind and fresh:
            fresh = False
            yield event


def _shifted(spans: Iterable[LaneSpan], zero: float) -> Iterator[LaneSpan]:
    for span in sorted(spans, key=lambda span: span.start):
        if span.end > span.start:
            yield LaneSpan(span.doing, span.start - zero, span.end - zero, span.generation)
