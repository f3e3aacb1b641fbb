"""What to change next time, each with what was seen. A rule is silent where what it needs is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clusterwright.monitor.picture.visible import visible
from clusterwright.monitor.report.job_facts import JobFacts
from clusterwright.monitor.report.report import Both, clock, gib, percent, ratio, said, span, words

# Ours, near those of jobstats (github.com/PrincetonUniversity/jobstats): less is worth a word.
LITTLE_CPU, LITTLE_MEMORY, LITTLE_GPU = 0.2, 0.3, 0.5
SHORT_OF_LIMIT, LONG_ENOUGH_S = 0.25, 600.0
HALF_FULL = 0.6  # of a GPU's memory: a batch twice as large is likely to fit below half; some room is left
WAITS, FEW_STEPS, COMPUTES, LOSES = (
    0.02,
    10,
    0.6,
    0.05,
)  # the first three as onhost/supervisor/ledger/advice.py has them
TALKS = 0.1  # of the time in steps, as onhost/supervisor/ledger/communication.py has it
GROWTH, FIT, POINTS = (
    0.1,
    0.8,
    8,
)  # of memory: so much more at the end, so straight a line, so many points at least
WARM_UP = 0.2  # of the points: caches fill
FAR_OFF = 2  # times: a checkpoint interval nearer to the best than that costs little (Young's curve is flat)


def advice(facts: JobFacts) -> list[Both]:
    """All that is to be said, the dearest first."""
    return [each for rule in RULES for each in rule(facts)]


def _idle(facts: JobFacts) -> Iterator[Both]:
    if facts.idle and facts.ran_s > LONG_ENOUGH_S:
        where = ", ".join(f"{visible(each.host)}:{each.index}" for each in facts.idle[:4])
        count, held = len(facts.idle), len(facts.gpus)
        yield said("idle", count=count, held=held, where=where, left=max(0, held - count))


def _slow_gpus(facts: JobFacts) -> Iterator[Both]:
    used, full = facts.gpu, facts.gpu_memory
    if used is None or used >= LITTLE_GPU or len(facts.idle) == len(facts.gpus) or _waits(facts) > WAITS:
        return
    if full is not None and full < HALF_FULL:
        yield said("batch", used=percent(used), full=percent(full))
    else:
        yield said("slow-gpus", used=percent(used))


def _waits(facts: JobFacts) -> float:
    return float((facts.run.get("reading") or {}).get("share") or 0)


def _data(facts: JobFacts) -> Iterator[Both]:
    found = facts.run.get("reading") or {}
    if _waits(facts) <= WAITS or found.get("steps", 0) < FEW_STEPS:
        return
    wanted, workers, cpus = (int(found.get(name) or 0) for name in ("wanted", "workers", "cpus"))
    seen = {"share": percent(_waits(facts)), "workers": workers, "wanted": wanted, "cpus": cpus}
    had_s = float(found.get("busy_s") or 0) * (workers or float(found.get("here") or 0))
    computing = ratio(found.get("cpu_s"), had_s)
    far = [each for each in (facts.run.get("record") or {}).get("data") or () if each.get("stage") != "local"]
    if computing is not None and computing < COMPUTES and far:
        yield said("staging", **seen, path=visible(str(far[0].get("path"))))
    else:
        yield said("workers" if workers < wanted < cpus else "processors", **seen)


def _communication(facts: JobFacts) -> Iterator[Both]:
    found = facts.run.get("communication") or {}
    share, steps, hosts = (float(found.get(name) or 0) for name in ("share", "steps", "hosts"))
    if share <= TALKS or steps < FEW_STEPS:
        return
    each_s = float(found.get("busy_s") or 0) / steps
    seen = {
        "share": percent(share),
        "talked": f"{share * each_s * 1000:.3g} ms",
        "step": f"{each_s * 1000:.3g} ms",
    }
    bounded = found.get("known") == "bounded"
    yield said(
        "waits-for-ranks" if bounded else "network" if hosts > 1 else "talks", **seen, hosts=int(hosts)
    )


def _stragglers(facts: JobFacts) -> Iterator[Both]:
    worst: dict[int, Sequence[Any]] = {}
    for row in facts.run.get("slow") or ():
        if float(row[2]) >= float(worst.get(int(row[0]), row)[2]):
            worst[int(row[0])] = row
    for rank, row in sorted(worst.items(), key=lambda pair: -float(pair[1][2])):
        lost = f"{float(row[6]) * 1000:.3g} ms"
        yield said("straggler", rank=rank, host=visible(str(row[1])), times=f"{float(row[2]):.2f}", lost=lost)


def _losses(facts: JobFacts) -> Iterator[Both]:
    bins: dict[str, float] = {
        name: float(value) for name, value in (ledger(facts).get("gpu_s") or {}).items()
    }
    held = sum(value for name, value in bins.items() if name != "queue")
    lost = {name: value for name, value in bins.items() if f"loss:{name}" in words()}
    worst = max(lost, key=lambda name: lost[name], default="")
    if facts.ran_s > LONG_ENOUGH_S and held and worst and lost[worst] / held > LOSES:
        yield said(f"loss:{worst}", share=percent(lost[worst] / held))


def _memory_creeps(facts: JobFacts) -> Iterator[Both]:
    points = [(float(row[0]), float(row[1])) for row in facts.run.get("memory") or ()]
    points = points[int(len(points) * WARM_UP) :]
    if len(points) < POINTS:
        return
    slope, straight = line(points)
    (begin, first), (end, last) = points[0], points[-1]
    if first > 0 and slope * (end - begin) / first > GROWTH and straight > FIT:
        seen = {"begin": f"{begin:.0f}", "end": f"{end:.0f}", "first": gib(first), "last": gib(last)}
        yield said("creeps", slope=gib(slope * 1000), **seen)


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the straight line that fits best, and how much of what varies it explains (0 to 1)."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return (xy / xx, xy * xy / (xx * yy)) if xx and yy else (0.0, 0.0)


def _checkpoints(facts: JobFacts) -> Iterator[Both]:
    found = ledger(facts).get("checkpoint") or {}
    interval, best = found.get("interval_s"), found.get("best_interval_s")
    if interval and best and not best / FAR_OFF < interval < best * FAR_OFF:
        yield said("checkpoints", interval=span(interval), best=span(best))


def _time_limit(facts: JobFacts) -> Iterator[Both]:
    limit_s, state = facts.record.limit_s, facts.record.state
    if state == "TIMEOUT":
        yield said("timeout", limit=clock(limit_s))
    elif state == "COMPLETED" and limit_s and LONG_ENOUGH_S < facts.ran_s < SHORT_OF_LIMIT * limit_s:
        yield said("limit", ran=span(facts.ran_s), limit=span(limit_s))


def _asked_amiss(facts: JobFacts) -> Iterator[Both]:
    """Too little, or much more than was used."""
    used, given = facts.memory
    share, cpu, cpus = ratio(used, given), facts.cpu, facts.record.cpus
    if facts.record.state == "OUT_OF_MEMORY":
        yield said("killed", given=gib(given))
    if facts.ran_s < LONG_ENOUGH_S:
        return
    if share is not None and share < LITTLE_MEMORY:
        yield said("memory", used=gib(used), given=gib(given), share=percent(share))
    if cpu is not None and cpu < LITTLE_CPU and cpus > max(1, facts.record.gpus):
        yield said("cpus", share=percent(cpu), cpus=cpus)


def ledger(facts: JobFacts) -> dict[str, Any]:
    """Where the run's time went; empty where there is no run."""
    return dict((facts.run.get("status") or {}).get("ledger") or {})


RULES: tuple[Callable[[JobFacts], Iterator[Both]], ...] = (
    _idle, _slow_gpus, _data, _communication, _stragglers, _losses, _memory_creeps, _checkpoints, _time_limit,
    _asked_amiss,
)  # fmt: skip
