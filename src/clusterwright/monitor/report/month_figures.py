"""Figures of a month of the cluster or one team: jobs, runs and metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report.job_facts import Values
from clusterwright.monitor.report.report import ratio
from clusterwright.onhost.lib.accounts import equal_shares
from clusterwright.onhost.lib.run_outcome import CANCELED

HOUR_S = 3600
TOP = 10
FAILURE_S = 60.0  # a run has at most one failure in this time: a restart takes as long
MOST_S = 1e15  # of a bin; more is no time
CAUSES = 40  # of failures inside runs, an equal number for each user
# Cause of a failure by Slurm's state; a job that its user canceled did not fail.
FAILED = {
    "FAILED": "program", "NODE_FAIL": "host", "OUT_OF_MEMORY": "memory", "TIMEOUT": "time limit",
    "BOOT_FAIL": "host", "DEADLINE": "time limit",
}  # fmt: skip
UNNAMED = "-"


@dataclass(frozen=True)
class Span:
    """The time range of a report, the cluster's GPUs, and the team; empty for all teams."""

    begin: float
    end: float  # not later than now
    gpus: int
    team: str = ""

    @property
    def capacity_h(self) -> float:
        """GPU hours of all GPUs of the cluster from `begin` to `end`, also of hosts that were down."""
        return self.gpus * (self.end - self.begin) / HOUR_S


@dataclass
class Sum:
    """Sums over the jobs of a team, a user, or the whole cluster."""

    jobs: int = 0
    held_h: float = 0.0  # GPU hours
    waits_s: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    failed_h: float = 0.0  # GPU hours of jobs that failed
    busy_h: float | None = None
    idle_h: float | None = None
    measured_h: float | None = None
    joules: float | None = None

    @property
    def use(self) -> float | None:
        """Mean GPU utilization, 0 to 1, in the measured GPU hours; None without any."""
        return ratio(self.busy_h, self.measured_h)

    @property
    def idle(self) -> float | None:
        """Share, 0 to 1, of the measured GPU hours in which GPUs were idle; None without any."""
        return ratio(self.idle_h, self.measured_h)


@dataclass
class Month:
    """All figures of a month; hours are GPU hours."""

    span: Span
    all: Sum
    teams: dict[str, Sum]
    users: dict[str, Sum]
    top: list[tuple[AccountingRecord, float]]  # jobs with their GPU hours in this time
    broken: Counter[str] = field(default_factory=Counter)  # failures inside runs, by kind; CAUSES at most
    broken_others: int = 0  # those of other kinds
    lost_h: dict[str, float] = field(default_factory=dict)  # by category of the runs' goodput accounting
    joules: float | None = None
    missing: tuple[str, ...] = ()

    @property
    def utilisation(self) -> float | None:
        """Allocated GPU hours over those of the cluster, 0 to 1; None for a cluster without GPUs."""
        return ratio(self.all.held_h, self.span.capacity_h)


def month(
    span: Span,
    records: Sequence[AccountingRecord],
    runs: Iterable[Mapping[str, Any]],
    values: Values,
    missing: tuple[str, ...] = (),
) -> Month:
    """Sum up records and runs of a month, of one team if `span.team` is set.

    Of a requeued job, which has several records, each allocation counts; GPU hours are those within the month.
    """
    team_records = [record for record in records if not span.team or record.account == span.team]
    figures = Month(span, Sum(), {}, {}, [], missing=missing)
    runs = tuple(runs)
    canceled = {
        (str(run.get("user")), str(job))
        for run in runs
        if run.get("state") == CANCELED
        for job in run.get("jobs") or ()
    }
    for record in team_records:
        hours = record.gpus * record.allocated_s(span.begin, span.end) / HOUR_S
        for total in (
            figures.all,
            figures.teams.setdefault(record.account or UNNAMED, Sum()),
            figures.users.setdefault(record.user or UNNAMED, Sum()),
        ):
            _add(total, record, hours, span, is_canceled=(record.user, record.id) in canceled)
        if hours:
            figures.top.append((record, hours))
    figures.top = sorted(figures.top, key=lambda pair: -pair[1])[:TOP]
    _add_runs(figures, team_records, runs)
    _add_metrics(figures, values)
    return figures


def _add_runs(figures: Month, records: Sequence[AccountingRecord], runs: Iterable[Mapping[str, Any]]) -> None:
    """Add failures and GPU hours inside runs, if Slurm recorded jobs of the runs' users for them.

    A user writes the accounting of a run: it counts for jobs of this user, each once, and up to Slurm's GPU hours, with
    at most one failure for each minute of the jobs.
    """
    unused: dict[tuple[str, str], list[AccountingRecord]] = {}
    causes: dict[str, Counter[str]] = {}
    for record in records:
        unused.setdefault((record.user, record.id), []).append(record)
    for run in runs:
        keys = [(str(run.get("user")), str(job)) for job in run.get("jobs") or ()]
        of_run = [record for key in keys for record in unused.pop(key, ())]
        if not of_run:
            continue
        of_user = causes.setdefault(str(run.get("user")), Counter())
        ran_s = sum(record.ran_s(figures.span.end) for record in of_run)
        failures = (run.get("failures") or ())[: math.ceil(ran_s / FAILURE_S)]
        of_user.update(str(failure.get("reason")) for failure in failures)
        for name, seconds in _counted_s(run.get("gpu_s") or {}, of_run, figures.span.end).items():
            figures.lost_h[name] = figures.lost_h.get(name, 0.0) + seconds / HOUR_S
    sorted_causes = {user: total.most_common() for user, total in causes.items()}
    for rows in equal_shares(sorted_causes, CAUSES).values():
        figures.broken.update(dict(rows))
    figures.broken_others = sum(total.total() for total in causes.values()) - figures.broken.total()


def _counted_s(
    gpu_s: Mapping[str, float], records: Sequence[AccountingRecord], now: float
) -> dict[str, float]:
    """Return the GPU seconds of a run by bin, scaled so that their sum is Slurm's GPU seconds of the run's jobs.

    `queue` is not scaled, but at most the jobs' waiting time.
    """
    used_s = {name: min(seconds, MOST_S) for name, seconds in gpu_s.items() if name != "queue"}
    allocated_s = sum(record.gpus * record.ran_s(now) for record in records)
    share = ratio(allocated_s, math.fsum(used_s.values())) or 0.0
    counted_s = {name: seconds * share for name, seconds in used_s.items()}
    if "queue" in gpu_s:
        waited_s = sum(record.gpus * (record.waited_s or 0.0) for record in records)
        counted_s["queue"] = min(gpu_s["queue"], waited_s)
    return counted_s


def _add(
    total: Sum, record: AccountingRecord, hours: float, span: Span, *, is_canceled: bool = False
) -> None:
    """Add a job, and `hours` (its GPU hours in the time range), to a sum.

    Its wait counts if it started in the time range, its failure if it ended there. A job that `is_canceled` does not
    count as FAILED, as the supervisor of a canceled run exits with such a code.
    """
    total.jobs += 1
    total.held_h += hours
    waited_s = record.waited_s
    if waited_s is not None and record.start is not None and span.begin <= record.start < span.end:
        total.waits_s.append(waited_s)
    reason = None if is_canceled and record.state == "FAILED" else FAILED.get(record.state)
    if reason and record.end is not None and span.begin <= record.end < span.end:
        total.failed[reason] += 1
        total.failed_h += hours


def _add_metrics(figures: Month, values: Values) -> None:
    """Add Prometheus's sums of measured, busy and idle GPU time and energy, by account; of other teams none.

    Without a team, the energy of the month is that of all GPUs, also of unallocated ones.
    """
    for name, attribute, unit in (
        ("busy_s", "busy_h", HOUR_S),
        ("idle_s", "idle_h", HOUR_S),
        ("measured_s", "measured_h", HOUR_S),
        ("joules", "joules", 1),
    ):
        for labels, value in values.get(name, ()):
            team = labels.get("account") or UNNAMED
            if figures.span.team and team != figures.span.team:
                continue
            for total in (figures.all, figures.teams.setdefault(team, Sum())):
                setattr(total, attribute, (getattr(total, attribute) or 0.0) + value / unit)
    figures.joules = figures.all.joules
    if not figures.span.team:
        figures.joules = next((value for _, value in values.get("all_joules", ())), figures.joules)
