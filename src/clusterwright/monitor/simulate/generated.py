"""Generate a trace of teams that share a cluster, with days and nights, many small jobs and few long ones.

The shape is that of published traces of GPU clusters (Philly, 2019; Helios, 2021; Alibaba PAI, 2022): most jobs
request one GPU, most GPU time is in few long jobs over whole hosts, run times span five orders of magnitude, and
nights and weekends are quieter. The figures below are chosen within the ranges that those report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clusterwright.monitor.simulate.trace import TraceJob

Draw = Callable[[], float]  # uniform between 0 and 1, as random.Random(seed).random

DAY_S, HOUR_S, MINUTE_S = 86400.0, 3600.0, 60.0
MORNING, EVENING, SATURDAY_SUNDAY = 7, 22, (5, 6)
NIGHT, WEEKEND = 0.3, 0.5  # relative to noon of a working day
# GPUs of a job, and its percentage of jobs; whole hosts from eight on.
SIZES = ((1, 46), (2, 16), (4, 14), (8, 14), (16, 6), (32, 3), (64, 1))
MEDIAN_S, SPREAD, LONGER = 1500.0, 1.6, 0.35  # log-normal; a job of n GPUs runs n ** LONGER as long
SHORTEST_S, LONGEST_S = 60.0, 4 * DAY_S
NO_LIMIT, SHORT_S = 0.25, 4 * HOUR_S  # this share of the shorter jobs has no time limit
LOOSE = (1.2, 4.0)  # range of the requested time limit over run time


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A team: name, share of the requested GPU time, number of users, and its largest job in GPUs."""

    name: str
    demand: float
    users: int
    largest: int


FIVE = (
    UserGroup("vision", 0.34, 6, 32),
    UserGroup("language", 0.30, 5, 64),
    UserGroup("robotics", 0.16, 4, 8),
    UserGroup("biology", 0.14, 3, 8),
    UserGroup("students", 0.06, 12, 2),
)


def groups(count: int, names: Sequence[str] = ()) -> tuple[UserGroup, ...]:
    """Return the first `count` groups of FIVE, with a site's team names if given; demands are scaled to a sum of 1."""
    chosen = FIVE[:count]
    total = sum(group.demand for group in chosen)
    return tuple(
        replace(group, demand=group.demand / total, name=names[index] if index < len(names) else group.name)
        for index, group in enumerate(chosen)
    )


@dataclass(frozen=True, slots=True)
class TraceSpec:
    """Size and length of a trace; `load` is the requested GPU time over that of the cluster."""

    days: float
    load: float
    gpus: int
    gpus_per_host: int
    cpus_per_gpu: int
    groups: Sequence[UserGroup] = FIVE


def generated(spec: TraceSpec, draw: Draw) -> list[TraceJob]:
    """Return random jobs, sorted by submission, until the load of the spec is reached; day 0 is a Monday."""
    demand_s = spec.load * spec.gpus * spec.days * DAY_S
    jobs: list[TraceJob] = []
    for group in spec.groups:
        left_s, number = group.demand * demand_s, 0
        while left_s > 0:
            number += 1
            gpus = _size(min(group.largest, spec.gpus // 2), draw)
            run_s = min(_run(gpus, draw), max(SHORTEST_S, left_s / gpus))
            left_s -= gpus * run_s
            jobs.append(_job(spec, group, number, gpus, run_s, draw))
    return sorted(jobs, key=lambda job: (job.submit, job.id))


def _job(spec: TraceSpec, group: UserGroup, number: int, gpus: int, run_s: float, draw: Draw) -> TraceJob:
    hosts = max(1, gpus // spec.gpus_per_host)
    gpus_per_host = gpus // hosts
    user = f"{group.name}{1 + int(draw() ** 2 * group.users)}"  # some users submit many more than others
    return TraceJob(
        f"{group.name}-{number}",
        group.name,
        user,
        _moment(spec.days, draw),
        run_s,
        _limit(run_s, draw),
        hosts,
        gpus_per_host,
        gpus_per_host * spec.cpus_per_gpu,
    )


def _size(most: int, draw: Draw) -> int:
    fitting = [(gpus, count) for gpus, count in SIZES if gpus <= max(1, most)]
    remaining = draw() * sum(count for _, count in fitting)
    for gpus, count in fitting:
        remaining -= count
        if remaining <= 0:
            return gpus
    return fitting[-1][0]


def _run(gpus: int, draw: Draw) -> float:
    normal = math.sqrt(-2 * math.log(max(draw(), 1e-12))) * math.cos(2 * math.pi * draw())
    return min(LONGEST_S, max(SHORTEST_S, MEDIAN_S * math.pow(gpus, LONGER) * math.exp(SPREAD * normal)))


def _limit(run_s: float, draw: Draw) -> float | None:
    if draw() < NO_LIMIT and run_s < SHORT_S:
        return None
    low, high = LOOSE
    quarter = 15 * MINUTE_S
    return max(quarter, math.ceil(run_s * (low + (high - low) * draw()) / quarter) * quarter)


def _moment(days: float, draw: Draw) -> float:
    """Draw a submission time, in seconds from 0 to `days`, weighted by `rate`; draws until one is accepted."""
    while True:
        time_s = draw() * days * DAY_S
        if draw() <= rate(time_s):
            return time_s


def rate(time_s: float) -> float:
    """Return the submission rate, `time_s` after Monday 0:00, over that at the peak of a working day (14:30).

    Nights and weekends are lower, but never 0.
    """
    hour, day = time_s % DAY_S / HOUR_S, int(time_s // DAY_S) % 7
    daytime = (
        max(0.0, math.sin(math.pi * (hour - MORNING) / (EVENING - MORNING)))
        if MORNING < hour < EVENING
        else 0.0
    )
    return (NIGHT + (1 - NIGHT) * daytime) * (WEEKEND if day in SATURDAY_SUNDAY else 1.0)
