"""Figures of a run from its goodput accounting: ratios, failures, recovery times, best checkpoint interval. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from clusterwright.onhost.supervisor.goodput.accounting import Accounting, fault, of_jobs
from clusterwright.onhost.supervisor.goodput.history import History
from clusterwright.onhost.supervisor.goodput.timeline import (
    SECOND,
    Attempt,
    Event,
    Generation,
    JobTimeline,
    jobs,
    tick,
)
from clusterwright.onhost.supervisor.root_cause import first_failure

HOUR = 3600 * SECOND
# Another checkpoint interval is suggested if it would save this share of the time, after at least so many failures:
# three failures determine the rate to within a factor of about three.
WORTH_SAYING = 0.005
FEWEST = 3


@dataclass
class Failure:
    """One failure of a generation, and when the training had recovered."""

    reason: str
    generation: int
    at: int  # ticks
    detected: int
    first_failure: str = ""
    step: Optional[int] = None  # the last complete step
    # ticks from the fault to the end of the first step beyond the highest so far
    recovered: Optional[int] = None

    def document(self) -> Dict[str, Any]:
        """Return the failure as an object for ledger.json; its times are in seconds."""
        return {
            "reason": self.reason,
            "generation": self.generation,
            "time": self.at / SECOND,
            "first_failure": self.first_failure,
            "step": self.step,
            "detect_s": (self.detected - self.at) / SECOND,
            "recovery_s": None if self.recovered is None else self.recovered / SECOND,
        }


@dataclass
class Figures:
    """All figures of a run, computed from its accounting and events; times in ticks (microseconds)."""

    accounting: Accounting
    failures: List[Failure] = field(default_factory=list)
    stall: Optional[int] = None  # of one checkpoint
    interval: Optional[int] = None  # between two checkpoints
    from_memory: bool = False  # some state was restored from in-memory checkpoints
    price: Optional[Dict[str, Any]] = None

    @property
    def ettr(self) -> Optional[float]:
        """Return the effective training time ratio: time in steps not repeated, over all time since the submission.

        None if no time has passed.
        """
        return _ratio(sum(stretch.ticks for stretch in self.accounting.stretches), self.accounting.wall)

    @property
    def goodput(self) -> Optional[float]:
        """Return the GPU time in steps not repeated, over all GPU time allocated to the run; None without any."""
        return _ratio(self.accounting.bins["step"], self.accounting.total - self.accounting.bins["queue"])

    @property
    def mttr(self) -> Optional[int]:
        """Return the mean ticks (microseconds) from a fault to new progress; None if no failure has recovered."""
        times = [failure.recovered for failure in self.failures if failure.recovered is not None]
        return sum(times) // len(times) if times else None

    @property
    def mttf(self) -> Optional[int]:
        """Return the mean time to failure in ticks: time with hosts allocated, per failure; None without failures."""
        return self.accounting.allocated // len(self.failures) if self.failures else None

    @property
    def by_kind(self) -> Dict[str, int]:
        """Return the number of failures by kind (the reason)."""
        counts: Dict[str, int] = {}
        for failure in self.failures:
            counts[failure.reason] = counts.get(failure.reason, 0) + 1
        return counts

    @property
    def best_interval(self) -> Optional[int]:
        """Return the best ticks between two checkpoints (Young 1974): the root of 2 x stall x MTTF.

        None with too few failures, or if the run restored from memory.
        """
        if not self.stall or not self.mttf or len(self.failures) < FEWEST or self.from_memory:
            return None
        return int(math.sqrt(2 * self.stall * self.mttf))

    @property
    def interval_costs(self) -> float:
        """Return the share of the run's time that the best checkpoint interval would save over the actual one.

        0 if one of the four figures is unknown.
        """
        if not self.stall or not self.mttf or not self.interval or not self.best_interval:
            return 0.0
        return _share(self.interval, self.stall, self.mttf) - _share(
            self.best_interval, self.stall, self.mttf
        )

    @property
    def cost(self) -> Optional[float]:
        """Return the cost of the GPU hours allocated to the run; None without a price."""
        if not self.price or not isinstance(self.price.get("amount"), (int, float)):
            return None
        return (self.accounting.total - self.accounting.bins["queue"]) / HOUR * float(self.price["amount"])


def work_out(history: History, end_time: Optional[float] = None) -> Figures:
    """Return all figures of a run from its events; `end_time` is now (epoch seconds) if it has not ended."""
    chain = jobs(history.events, end_time)
    accounting = of_jobs(chain, history.submitted)
    stall, interval = _checkpoints(history.events)
    restored = [event.get("source") for event in history.events if event["event"] == "restored"]
    return Figures(accounting, list(_failures(chain)), stall, interval, "memory" in restored, history.price)


def document(figures: Figures) -> Dict[str, Any]:
    """Return the content of ledger.json: seconds, GPU hours, ratios from 0 to 1; unknown values are None."""
    accounting = figures.accounting
    return {
        "gpus": accounting.gpus,
        "wall_s": accounting.wall / SECOND,
        "held_s": accounting.allocated / SECOND,
        "ettr": figures.ettr,
        "goodput": figures.goodput,
        "estimated": accounting.estimated,
        "gpu_s": {name: ticks / SECOND for name, ticks in accounting.bins.items()},
        "gpu_hours": {name: ticks / HOUR for name, ticks in accounting.bins.items()},
        "mttr_s": _seconds(figures.mttr),
        "mttf_s": _seconds(figures.mttf),
        "failures_by_kind": figures.by_kind,
        "failures": [failure.document() for failure in figures.failures],
        "checkpoint": {
            "stall_s": _seconds(figures.stall),
            "interval_s": _seconds(figures.interval),
            "best_interval_s": _seconds(figures.best_interval),
        },
        "cost": figures.cost,
        "price": figures.price,
    }


def _failures(chain: Sequence[JobTimeline]) -> Iterator[Failure]:
    """Yield each failed attempt of the run as a failure; `recovered` is set later, at the training's new progress."""
    open_failures: List[Failure] = []
    highest = 0
    for job, generation, attempt in _attempts(chain):
        for step in attempt.steps:
            if int(step.get("step", 0)) > highest:
                highest = int(step["step"])
                for failure in open_failures:
                    failure.recovered = tick(step) - failure.at
                open_failures = []
        if attempt.failed:
            broken = _failure(job, generation, attempt)
            open_failures.append(broken)
            yield broken


def _attempts(chain: Sequence[JobTimeline]) -> Iterator[Tuple[JobTimeline, Generation, Attempt]]:
    for job in chain:
        for generation in job.generations:
            for attempt in generation.attempts:
                yield job, generation, attempt


def _failure(job: JobTimeline, generation: Generation, attempt: Attempt) -> Failure:
    last = attempt is generation.attempts[-1]
    reason = (
        generation.reason
        if last and generation.reason
        else "supervisor-lost"
        if last and job.is_truncated
        else "ranks-failed"
    )
    progress = tick(attempt.steps[-1]) if attempt.steps else attempt.begin
    began = first_failure.line(attempt.faults, job.ranks)
    step = int(attempt.steps[-1].get("step", 0)) if attempt.steps else None
    return Failure(reason, generation.number, fault(attempt, progress), attempt.end, began, step)


def _checkpoints(events: Sequence[Event]) -> Tuple[Optional[int], Optional[int]]:
    """Return the medians of a checkpoint's stall and of the interval between two, in ticks; None if unknown."""
    staged = [event for event in events if event["event"] == "checkpoint_staged"]
    checkpoints = [event for event in events if event["event"] == "checkpoint"]
    stalls = [float(event.get("seconds", 0)) for event in staged or checkpoints]
    intervals = [
        tick(current) - tick(previous)
        for index, current in enumerate(checkpoints)
        for previous in checkpoints[max(0, index - 1) : index]
        if previous.get("generation") == current.get("generation")
    ]
    stall = _middle([round(seconds * SECOND) for seconds in stalls])
    return stall, _middle(intervals)


def _share(interval: int, stall: int, mttf: int) -> float:
    """Return the share of time lost to checkpoints and repeated work: stall / interval + interval / (2 x MTTF)."""
    return stall / interval + interval / (2 * mttf)


def _middle(values: List[int]) -> Optional[int]:
    return sorted(values)[len(values) // 2] if values else None


def _ratio(part: int, total: int) -> Optional[float]:
    return part / total if total > 0 else None


def _seconds(ticks: Optional[int]) -> Optional[float]:
    return None if ticks is None else ticks / SECOND
