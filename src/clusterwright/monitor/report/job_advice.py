"""Advice on what to change in a job, with the observation. A rule yields nothing if its inputs are not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clusterwright.monitor.report.job_facts import JobFacts
from clusterwright.monitor.report.report import clock, message, messages, percent, ratio, size, span
from clusterwright.monitor.snapshot.visible import visible

# Thresholds near those of jobstats (github.com/PrincetonUniversity/jobstats).
LITTLE_CPU, LITTLE_MEMORY, LITTLE_GPU = 0.2, 0.3, 0.5
SHORT_OF_LIMIT, LONG_ENOUGH_S = 0.25, 600.0
HALF_FULL = 0.6  # of a GPU's memory; below half, a batch twice as large is likely to fit, with a margin
WAITS, FEW_STEPS, COMPUTES = 0.02, 10, 0.6  # as in onhost/supervisor/goodput/advice.py
LOSES = 0.05
TALKS = 0.1  # share of the time in steps, as in onhost/supervisor/goodput/communication.py
GROWTH, MIN_R_SQUARED, POINTS = 0.1, 0.8, 8  # of a memory leak: minimum growth, R squared and points
WARM_UP = 0.2  # share of the points that is dropped, while caches fill
INTERVAL_RATIO = 2  # a checkpoint interval within this factor of the best costs little (Young's curve)


def advice(facts: JobFacts) -> list[str]:
    """Return all advice for the job, the most costly problem first."""
    return [hint for rule in RULES for hint in rule(facts)]


def _idle(facts: JobFacts) -> Iterator[str]:
    if facts.idle and facts.ran_s > LONG_ENOUGH_S:
        gpu_names = ", ".join(f"{visible(gpu.host)}:{gpu.index}" for gpu in facts.idle[:4])
        count, gpu_count = len(facts.idle), len(facts.gpus)
        yield message("idle", count=count, held=gpu_count, where=gpu_names, left=max(0, gpu_count - count))


def _slow_gpus(facts: JobFacts) -> Iterator[str]:
    used, full = facts.gpu, facts.gpu_memory
    if used is None or used >= LITTLE_GPU or len(facts.idle) == len(facts.gpus) or _waits(facts) > WAITS:
        return
    if full is not None and full < HALF_FULL:
        yield message("batch", used=percent(used), full=percent(full))
    else:
        yield message("slow-gpus", used=percent(used))


def _waits(facts: JobFacts) -> float:
    return float((facts.run.get("reading") or {}).get("share") or 0)


def _data(facts: JobFacts) -> Iterator[str]:
    reading = facts.run.get("reading") or {}
    if _waits(facts) <= WAITS or reading.get("steps", 0) < FEW_STEPS:
        return
    required_workers, workers, cpus = (int(reading.get(name) or 0) for name in ("wanted", "workers", "cpus"))
    values = {"share": percent(_waits(facts)), "workers": workers, "wanted": required_workers, "cpus": cpus}
    had_s = float(reading.get("busy_s") or 0) * (workers or float(reading.get("here") or 0))
    computing = ratio(reading.get("cpu_s"), had_s)
    remote_data = [
        dataset
        for dataset in (facts.run.get("record") or {}).get("data") or ()
        if dataset.get("stage") != "local"
    ]
    if computing is not None and computing < COMPUTES and remote_data:
        yield message("staging", **values, path=visible(str(remote_data[0].get("path"))))
    else:
        yield message("workers" if workers < required_workers < cpus else "processors", **values)


def _communication(facts: JobFacts) -> Iterator[str]:
    communication = facts.run.get("communication") or {}
    share, steps, hosts = (float(communication.get(name) or 0) for name in ("share", "steps", "hosts"))
    if share <= TALKS or steps < FEW_STEPS:
        return
    step_s = float(communication.get("busy_s") or 0) / steps
    values = {"share": percent(share), "talked": span(share * step_s), "step": span(step_s)}
    bounded = communication.get("status") == "bounded"
    yield message(
        "waits-for-ranks" if bounded else "network" if hosts > 1 else "talks", **values, hosts=int(hosts)
    )


def _stragglers(facts: JobFacts) -> Iterator[str]:
    worst: dict[int, Sequence[Any]] = {}
    for row in facts.run.get("slow") or ():
        if float(row[2]) >= float(worst.get(int(row[0]), row)[2]):
            worst[int(row[0])] = row
    for rank, row in sorted(worst.items(), key=lambda pair: -float(pair[1][2])):
        delay = span(float(row[6]))
        yield message(
            "straggler", rank=rank, host=visible(str(row[1])), times=f"{float(row[2]):.2f}", lost=delay
        )


def _losses(facts: JobFacts) -> Iterator[str]:
    bins: dict[str, float] = {
        name: float(value) for name, value in (ledger(facts).get("gpu_s") or {}).items()
    }
    allocated_s = sum(value for name, value in bins.items() if name != "queue")
    losses = {name: value for name, value in bins.items() if f"loss:{name}" in messages()}
    worst = max(losses, key=lambda name: losses[name], default="")
    if facts.ran_s > LONG_ENOUGH_S and allocated_s and worst and losses[worst] / allocated_s > LOSES:
        yield message(f"loss:{worst}", share=percent(losses[worst] / allocated_s))


def _memory_creeps(facts: JobFacts) -> Iterator[str]:
    points = [(float(row[0]), float(row[1])) for row in facts.run.get("memory") or ()]
    points = points[int(len(points) * WARM_UP) :]
    if len(points) < POINTS:
        return
    slope, straight = line(points)
    (begin, first_value), (end, last) = points[0], points[-1]
    if first_value > 0 and slope * (end - begin) / first_value > GROWTH and straight > MIN_R_SQUARED:
        values = {
            "begin": f"{begin:.0f}",
            "end": f"{end:.0f}",
            "first": size(first_value),
            "last": size(last),
        }
        yield message("creeps", slope=size(slope * 1000), **values)


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return slope and R squared of the least-squares line; both 0 if all x or all y are equal; needs a point."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return (xy / xx, xy * xy / (xx * yy)) if xx and yy else (0.0, 0.0)


def _checkpoints(facts: JobFacts) -> Iterator[str]:
    checkpoint = ledger(facts).get("checkpoint") or {}
    interval, best = checkpoint.get("interval_s"), checkpoint.get("best_interval_s")
    if interval and best and not best / INTERVAL_RATIO < interval < best * INTERVAL_RATIO:
        yield message("checkpoints", interval=span(interval), best=span(best))


def _time_limit(facts: JobFacts) -> Iterator[str]:
    limit_s, state = facts.record.limit_s, facts.record.state
    if state == "TIMEOUT":
        yield message("timeout", limit=clock(limit_s))
    elif state == "COMPLETED" and limit_s and LONG_ENOUGH_S < facts.ran_s < SHORT_OF_LIMIT * limit_s:
        yield message("limit", ran=span(facts.ran_s), limit=span(limit_s))


def _resource_request(facts: JobFacts) -> Iterator[str]:
    """Yield advice on memory or CPUs of which the job requested too little, or much more than it used.

    A job shorter than LONG_ENOUGH_S gets only the advice on being killed for memory.
    """
    used, limit = facts.memory
    share, cpu, cpus = ratio(used, limit), facts.cpu, facts.record.cpus
    if facts.record.state == "OUT_OF_MEMORY":
        yield message("killed", given=size(limit))
    if facts.ran_s < LONG_ENOUGH_S:
        return
    if share is not None and share < LITTLE_MEMORY:
        yield message("memory", used=size(used), given=size(limit), share=percent(share))
    if cpu is not None and cpu < LITTLE_CPU and cpus > max(1, facts.record.gpus):
        yield message("cpus", share=percent(cpu), cpus=cpus)


def ledger(facts: JobFacts) -> dict[str, Any]:
    """Return the goodput accounting of the run; empty without a run."""
    return dict((facts.run.get("status") or {}).get("ledger") or {})


RULES: tuple[Callable[[JobFacts], Iterator[str]], ...] = (
    _idle, _slow_gpus, _data, _communication, _stragglers, _losses, _memory_creeps, _checkpoints, _time_limit,
    _resource_request,
)  # fmt: skip
