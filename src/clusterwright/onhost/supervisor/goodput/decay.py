"""Decay of a run: steps, hosts, memory and data loading that become slowly worse. Pure, over events and samples.

Steps are events of rank 0; samples are the agents', one for each host (kinds.py). Only the newest generation counts:
another one may have other hosts, another batch size, and memory that begins anew.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from statistics import median
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from clusterwright.onhost.supervisor.goodput.timeline import Event
from clusterwright.onhost.supervisor.goodput.trend import SPANS, Trend, find_trend, neighbors

LEAST_S, LEAST_STEPS = 20.0, 48  # of a generation, for a conclusion
SLOWER = 0.05  # smallest fall of the rate
HOST_SLOWER = 0.1  # smallest rise of a host's time over that of the others
STAYS_SLOWER = 1.15  # smallest ratio of a host that stays slower, as of the alert JobSlowRank
STAYS_SPANS, STAYS_S = SPANS // 4, 60.0  # the shortest time that counts as staying slower
WAITS_MORE = 0.1  # smallest rise of the share of step time spent waiting for data
GROWS, GROWS_BYTES = 0.1, 64 << 20  # smallest growth of memory: a share of the initial, and bytes
HORIZON_S = 14 * 86400.0  # memory that lasts longer needs no attention
PARTS = 96  # of a generation, in each of which the wait for data is averaged
LEAST_DAYS, HOUR_SLOWER = 3, 0.9  # days on which an hour is slow, and its rate over the day's median
RATES, HOST, HOURS, DATA = "rates", "host", "hours", "data"
MEMORY, FREE_MEMORY, GPU_MEMORY = "memory", "free-memory", "gpu-memory"

Points = List[Tuple[float, float]]
Hour = Tuple[int, int]  # day, hour of the day


class Decay(NamedTuple):
    """One finding: its kind, the host that it is about (empty for the run), and one sentence."""

    kind: str
    host: str
    text: str


def local_hour(moment: float) -> Hour:
    """Return the day and the hour of a time in seconds since the epoch, by this machine's time zone."""
    local = time.localtime(moment)
    return local.tm_year * 366 + local.tm_yday, local.tm_hour


def find_decays(
    events: Sequence[Event], samples: Sequence[Event], hour_of: Callable[[float], Hour] = local_hour
) -> List[Decay]:
    """Return what becomes slowly worse in a run: causes first, the speed of all steps last.

    `events` are rank 0's in order, of a long run a selection; `samples` are those of all agents.
    """
    steps = [event for event in events if event["event"] == "step" and _is_number(event.get("seconds"))]
    generation = steps[-1].get("generation") if steps else _newest(samples)
    newest_steps = [event for event in steps if event.get("generation") == generation]
    plan = _plan(events, generation)
    hosts = _by_host(sample for sample in samples if sample.get("generation") == generation)
    return [
        *_memory(hosts, newest_steps, plan),
        *_slow_hosts(hosts),
        *_data(newest_steps),
        *_hours(steps, _plan(events, None), hour_of),
        *_rates(newest_steps, plan),
    ]


def _rates(steps: Sequence[Event], plan: Mapping[str, Any]) -> Iterator[Decay]:
    unit, points = rate_points(steps, plan)
    trend = find_trend(points, rises=False, least=SLOWER) if _is_long(points) else None
    if trend:
        yield Decay(RATES, "", f"rates fall from {_range(trend, unit)}")


def rate_points(steps: Sequence[Event], plan: Mapping[str, Any]) -> Tuple[str, Points]:
    """Return the unit and the training rate of each step over time.

    The unit is tokens per second if all steps have them, else samples, else steps.
    """
    timed_steps = [event for event in steps if event["seconds"] > 0]
    if timed_steps and all(_is_number(event.get("tokens")) and event["tokens"] > 0 for event in timed_steps):
        return "tokens/s", [(event["time"], event["tokens"] / event["seconds"]) for event in timed_steps]
    batch = plan.get("batch") if _is_number(plan.get("batch")) else None
    unit = "samples/s" if batch else "steps/s"
    return unit, [(event["time"], (batch or 1) / event["seconds"]) for event in timed_steps]


def _data(steps: Sequence[Event]) -> Iterator[Decay]:
    """Yield a finding if the share of step time that the slowest rank waits for its batches grows."""
    timed_steps = [event for event in steps if _is_number(event.get("busy")) and _is_number(_waited(event))]
    if len(timed_steps) < LEAST_STEPS:
        return
    every = max(1, len(timed_steps) // PARTS)
    boundaries = timed_steps[::every]
    points = [
        (
            later["time"],
            min(1.0, max(0.0, (_waited(later) - _waited(earlier)) / (later["busy"] - earlier["busy"]))),
        )
        for earlier, later in neighbors(boundaries)
        if later["busy"] > earlier["busy"]
    ]
    trend = find_trend(points, rises=True, least=WAITS_MORE, relative=False) if _is_long(points) else None
    if trend:
        begin, end = (f"{max(0.0, share):.0%}" for share in (trend.initial, trend.final))
        yield Decay(
            DATA,
            "",
            f"the wait for data grows from {begin} to {end} of the time in steps, {_start_text(trend.begin)}",
        )


def _waited(event: Event) -> Any:
    return event.get("waited_most", event.get("waited"))


def _memory(
    hosts: Mapping[str, Sequence[Event]], steps: Sequence[Event], plan: Mapping[str, Any]
) -> Iterator[Decay]:
    """Yield findings of growing memory: of each host's ranks, else falling free memory, and of rank 0's GPU."""
    growing = [decay for host, samples in hosts.items() for decay in _ranks_memory(host, samples)]
    # Hosts may share a machine: then the ranks of one use up what is left on both.
    yield from growing or (decay for host, samples in hosts.items() for decay in _free_memory(host, samples))
    points = [(event["time"], float(event["memory"])) for event in steps if _is_number(event.get("memory"))]
    is_gpu = str(plan.get("device") or "cpu") != "cpu"
    trend = _growth(points) if is_gpu or not hosts else None
    if trend:
        host = str(steps[-1].get("host") or "?")
        subject = f"GPU memory of rank 0 on {host}" if is_gpu else f"memory of the ranks on {host}"
        yield Decay(GPU_MEMORY if is_gpu else MEMORY, host, f"{subject} grows from {_sizes(trend)}")


def _ranks_memory(host: str, samples: Sequence[Event]) -> Iterator[Decay]:
    # A rank without memory has ended.
    complete = [sample for sample in samples if sample.get("memory") and all(sample["memory"])]
    points = [(sample["time"], float(sum(sample["memory"]))) for sample in complete]
    trend, free = _growth(points), samples[-1].get("available")
    if trend and (remaining_s := _time_left(trend, free)) < HORIZON_S:
        remaining = (
            f"; the last {_gib(float(free))} are used up in about {_duration(remaining_s)}" if free else ""
        )
        yield Decay(MEMORY, host, f"memory of the ranks on {host} grows from {_sizes(trend)}{remaining}")


def _free_memory(host: str, samples: Sequence[Event]) -> Iterator[Decay]:
    """Yield a finding if other processes than the ranks use up the memory left on a host."""
    points = [
        (sample["time"], float(sample["available"]))
        for sample in samples
        if _is_number(sample.get("available"))
    ]
    trend = _growth(points, rises=False)
    if trend and (remaining_s := _time_left(trend, points[-1][1])) < HORIZON_S:
        remaining = f"used up in about {_duration(remaining_s)}; the ranks do not grow"
        yield Decay(FREE_MEMORY, host, f"memory left on {host} falls from {_sizes(trend)}, {remaining}")


def _growth(points: Points, *, rises: bool = True) -> Optional[Trend]:
    if not _is_long(points, least_points=SPANS):
        return None
    least = max(float(GROWS_BYTES), GROWS * min(value for _, value in points))
    return find_trend(points, rises=rises, least=least, relative=False)


def _time_left(trend: Trend, free: Any) -> float:
    return float(free) / abs(trend.per_hour) * 3600 if _is_number(free) else 0.0


def _slow_hosts(hosts: Mapping[str, Sequence[Event]]) -> Iterator[Decay]:
    """Yield a finding for each host whose own part of a step takes longer and longer, or stays longer.

    Compared with the median of the other hosts at the same time.
    """
    for host, ratios in _ratios(hosts).items():
        is_long = _is_long(ratios, least_points=1)
        trend = find_trend(ratios, rises=True, least=HOST_SLOWER, relative=False) if is_long else None
        slow_spans = _slow_end(ratios)
        if trend and trend.final > 1 + HOST_SLOWER:
            growth = f"grows from {trend.initial:.2f} to {trend.final:.2f}"
            late = (trend.begin + trend.end) / 2
            text, begin = f"{host} becomes slower: its own part of a step {growth} times", trend.begin
        elif slow_spans:
            begin = late = slow_spans[0][0]
            ratio = median(ratio for _, ratio in slow_spans)
            text = f"{host} stays slower: its own part of a step takes {ratio:.2f} times"
        else:
            continue
        cause = _cause(hosts[host], late)
        yield Decay(HOST, host, f"{text} that of the other hosts, {_start_text(begin)}{cause}")


def _ratios(hosts: Mapping[str, Sequence[Event]]) -> Dict[str, Points]:
    """Return by host a point for each span of the common time: its time per step over the other hosts' median.

    Empty with fewer than two hosts that have samples.
    """
    series = {host: _step_times(samples) for host, samples in hosts.items()}
    series = {host: points for host, points in series.items() if points}
    if len(series) < 2:
        return {}
    begin = max(points[0][0] for points in series.values())
    end = min(points[-1][0] for points in series.values())
    spans = {host: _by_span(points, begin, end) for host, points in series.items()}
    ratios: Dict[str, Points] = {}
    for host, durations in spans.items():
        peers = [values for peer, values in spans.items() if peer != host]
        ratios[host] = [
            (
                begin + (span + 0.5) * (end - begin) / SPANS,
                seconds / median(values[span] for values in peers if values.get(span)),
            )
            for span, seconds in sorted(durations.items())
            if any(values.get(span) for values in peers)
        ]
    return ratios


def _slow_end(ratios: Points) -> Points:
    """Return the last ratios, all above STAYS_SLOWER; none if they last less than STAYS_SPANS or STAYS_S."""
    count = next(
        (index for index, (_, ratio) in enumerate(reversed(ratios)) if ratio < STAYS_SLOWER), len(ratios)
    )
    end = ratios[len(ratios) - count :]
    is_long = len(end) >= STAYS_SPANS and end[-1][0] - end[0][0] >= STAYS_S
    return end if is_long else []


def _cause(samples: Sequence[Event], begin: float) -> str:
    """Return a text on the share of a slow host's time since `begin` that it waits for data, if over half; else ""."""
    late = [sample for sample in samples if sample["time"] >= begin]
    shares = []
    for earlier, later in neighbors(late):
        for rank, total in enumerate(later["own"]):
            seconds = total - earlier["own"][rank]
            if seconds > 0:
                shares.append((later["waited"][rank] - earlier["waited"][rank]) / seconds)
    return f"; {median(shares):.0%} of it waits for data" if shares and median(shares) > 0.5 else ""


def _step_times(samples: Sequence[Event]) -> Points:
    """Return the seconds per step of a host's slowest rank between two samples, without its waiting for others."""
    points = []
    for earlier, later in neighbors(samples):
        durations = [
            (total - earlier["own"][rank]) / (later["step"][rank] - earlier["step"][rank])
            for rank, total in enumerate(later.get("own") or ())
            if later["step"][rank] > earlier["step"][rank] and total > earlier["own"][rank]
        ]
        points += [(later["time"], max(durations))] if durations else []
    return points


def _by_span(points: Points, begin: float, end: float) -> Dict[int, float]:
    """Return the median values by span: the time from `begin` to `end` is divided into SPANS equal ones."""
    groups: Dict[int, List[float]] = defaultdict(list)
    for moment, value in points:
        if begin <= moment <= end and end > begin:
            groups[min(SPANS - 1, int((moment - begin) / (end - begin) * SPANS))].append(value)
    return {span: median(values) for span, values in groups.items()}


def _hours(
    steps: Sequence[Event], plan: Mapping[str, Any], hour_of: Callable[[float], Hour]
) -> Iterator[Decay]:
    """Yield a finding with the hours of the day at which the rate is low on each of at least LEAST_DAYS days."""
    by_hour: Dict[Hour, List[float]] = defaultdict(list)
    for moment, rate in rate_points(steps, plan)[1]:
        by_hour[hour_of(moment)].append(rate)
    days: Dict[int, Dict[int, float]] = defaultdict(dict)
    for (day, hour), rates in by_hour.items():
        days[day][hour] = median(rates)
    shares: Dict[int, List[float]] = defaultdict(list)
    for medians in days.values():
        usual = median(medians.values())
        for hour, rate in medians.items():
            shares[hour].append(rate / usual)
    slow = {
        hour: median(values)
        for hour, values in shares.items()
        if len(values) >= LEAST_DAYS and max(values) < HOUR_SLOWER
    }
    if slow and len(slow) <= 8:
        worst = min(slow, key=lambda hour: slow[hour])
        hours = ", ".join(f"{hour:02}:00" for hour in sorted(slow))
        count = len(shares[worst])
        yield Decay(
            HOURS,
            "",
            f"rates are low each day at {hours}: {1 - slow[worst]:.0%} lower, on {count} of {count} days",
        )


def _by_host(samples: Iterator[Event]) -> Dict[str, List[Event]]:
    """Return the samples of each host in order; those with missing or invalid lists are left out."""
    hosts: Dict[str, List[Event]] = defaultdict(list)
    for sample in samples:
        lists = [sample.get(name) for name in ("step", "own", "waited", "memory")]
        if all(isinstance(values, list) and all(map(_is_number, values)) for values in lists):
            count = len(hosts[sample["host"]][0]["step"]) if hosts[sample["host"]] else len(lists[0] or ())
            if all(len(values or ()) == count for values in lists[:3]):
                hosts[sample["host"]].append(sample)
    return {host: ordered for host, ordered in sorted(hosts.items()) if ordered}


def _plan(events: Sequence[Event], generation: Any) -> Dict[str, Any]:
    """Return the fields of all plan events of a generation merged, the newest last; of any generation for None."""
    plan: Dict[str, Any] = {}
    for event in events:
        if event["event"] == "plan" and generation in (None, event.get("generation")):
            plan.update(event)
    return plan


def _newest(samples: Sequence[Event]) -> Any:
    return max((sample.get("generation") or 0 for sample in samples), default=0)


def _is_long(points: Points, least_points: int = LEAST_STEPS) -> bool:
    return len(points) >= least_points and points[-1][0] - points[0][0] >= LEAST_S


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _range(trend: Trend, unit: str) -> str:
    slope = _slope(trend, _number)
    return f"{_number(trend.initial)} to {_number(trend.final)} {unit}, {slope}, {_start_text(trend.begin)}"


def _sizes(trend: Trend) -> str:
    return f"{_gib(trend.initial)} to {_gib(trend.final)}, {_slope(trend, _gib)}, {_start_text(trend.begin)}"


def _slope(trend: Trend, written: Callable[[float], str]) -> str:
    """Return the trend's slope as text: per hour, or per minute for a trend of less than an hour."""
    change = abs(trend.per_hour)
    is_short = trend.end - trend.begin < 3600
    return f"{written(change / 60)} per minute" if is_short else f"{written(change)} per hour"


def _start_text(begin: float) -> str:
    return "since " + time.strftime("%Y-%m-%d %H:%M", time.localtime(begin))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _duration(seconds: float) -> str:
    for length, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {name}"
    return f"{seconds:.0f} s"
