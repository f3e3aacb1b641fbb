"""Figures of a replay: utilization, waits and fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.monitor.quantile import quantile
from clusterwright.monitor.simulate.engine import JobRun, SimulationOutcome
from clusterwright.monitor.simulate.settings import SimulationSettings

NOTHING = 1e-9  # below it a number counts as zero
SHORT_S = 600.0  # minimum run time in the slowdown (Feitelson's bounded slowdown, which uses 10 s)


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of some jobs, and their slowdown: time from submission to end over run time."""

    jobs: int
    median_s: float
    p90_s: float
    slowdown: float  # mean of the bounded slowdowns


@dataclass(frozen=True, slots=True)
class TeamResult:
    """GPU hours that one team used, and those that its shares entitle it to, limited by what it requested."""

    waits: Waits
    got_hours: float
    promised_hours: float


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Figures of one replay, as ratios: `used` by requested GPUs, `held` by GPUs that no other job could get.

    All but `span_s` are of the time from the first to the last submission: afterwards the queue only empties.
    """

    name: str
    used: float
    held: float
    waits: Waits
    fairness: float  # Jain's index of used over entitled GPU hours
    teams: Mapping[str, TeamResult]
    span_s: float  # until the last job ended
    never: int
    cut: int
    moved: int
    still: int  # jobs that were pending at the last submission
    strangers: tuple[str, ...] = ()  # teams without settings
    left_out: tuple[str, ...] = ()


def result(outcome: SimulationOutcome) -> SimulationResult:
    """Return the utilization, waits and fairness of a replay, from the first submission to the last.

    Utilization is that of GPUs if any job has some, else of CPUs. If all jobs are submitted at once, to the end of the
    last job.
    """
    job_runs, settings = outcome.job_runs, outcome.settings
    gpus = any(job_run.gpus for job_run in job_runs)
    begin = min((job_run.job.submit for job_run in job_runs), default=0.0)
    last = max((job_run.job.submit for job_run in job_runs), default=0.0)
    over = max((job_run.end for job_run in job_runs), default=0.0)
    end = last if last > begin else over
    capacity = (settings.gpus if gpus else settings.cpus) * (end - begin)
    used = sum(
        (job_run.gpus if gpus else job_run.cpus) * _overlap_s(job_run, begin, end) for job_run in job_runs
    )
    allocated = sum(
        (job_run.allocated_gpus if gpus else job_run.cpus) * _overlap_s(job_run, begin, end)
        for job_run in job_runs
    )
    teams = _teams(job_runs, settings, begin, end)
    return SimulationResult(
        settings.name,
        used / capacity if capacity else 0.0,
        allocated / capacity if capacity else 0.0,
        _waits(job_runs),
        jain([team.got_hours / team.promised_hours for team in teams.values() if team.promised_hours]),
        teams,
        over - begin,
        len(outcome.rejected_jobs),
        sum(job_run.is_timed_out for job_run in job_runs),
        outcome.moved,
        sum(job_run.start > end for job_run in job_runs),
        tuple(team for team in teams if settings.accounts and team not in settings.accounts),
        settings.left_out,
    )


def jain(values: Sequence[float]) -> float:
    """Return Jain's fairness index (1984): 1 if all values are equal, or all are 0; 1/n if one has all."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def promised(
    requested: Mapping[str, float], shares: Mapping[str, float], capacity: float
) -> dict[str, float]:
    """Divide a capacity by shares (default: 1) with max-min fairness: others get what a team does not request."""
    owed, remaining, hungry = (
        dict.fromkeys(requested, 0.0),
        capacity,
        {team for team in requested if requested[team] > 0},
    )
    while hungry and remaining > NOTHING:
        total = sum(shares.get(team, 1.0) for team in hungry)
        if not total:
            break
        full = {
            team
            for team in hungry
            if requested[team] - owed[team] <= remaining * shares.get(team, 1.0) / total
        }
        if not full:
            for team in hungry:
                owed[team] += remaining * shares.get(team, 1.0) / total
            break
        for team in full:
            remaining -= requested[team] - owed[team]
            owed[team] = requested[team]
        hungry -= full
    return owed


def _overlap_s(job_run: JobRun, begin: float, end: float) -> float:
    return max(0.0, min(job_run.end, end) - max(job_run.start, begin))


def _waits(job_runs: Sequence[JobRun]) -> Waits:
    waits = [job_run.start - job_run.job.submit for job_run in job_runs]
    slow = [
        max(1.0, (job_run.end - job_run.job.submit) / max(job_run.end - job_run.start, SHORT_S))
        for job_run in job_runs
    ]
    return Waits(
        len(job_runs),
        quantile(waits, 0.5) or 0.0,
        quantile(waits, 0.9) or 0.0,
        sum(slow) / len(slow) if slow else 0.0,
    )


def _teams(
    job_runs: Sequence[JobRun], settings: SimulationSettings, begin: float, end: float
) -> dict[str, TeamResult]:
    by_team: dict[str, list[JobRun]] = {}
    for job_run in job_runs:
        by_team.setdefault(job_run.job.team, []).append(job_run)
    hours = {
        team: sum((job_run.gpus or job_run.cpus) * _overlap_s(job_run, begin, end) for job_run in jobs) / 3600
        for team, jobs in by_team.items()
    }
    requested = {
        team: sum((job_run.gpus or job_run.cpus) * (job_run.end - job_run.start) for job_run in jobs) / 3600
        for team, jobs in by_team.items()
    }
    shares = {team: _share(team, settings) for team in by_team}
    owed = promised(requested, shares, sum(hours.values()))
    return {
        team: TeamResult(_waits(by_team[team]), hours[team], owed[team])
        for team in sorted(by_team, key=lambda team: -hours[team])
    }


def _share(team: str, settings: SimulationSettings) -> float:
    """Return a team's share, 0 to 1, of the cluster through all its parents.

    An unknown team has one share of the top level.
    """
    account = settings.accounts.get(team)
    if account is None:
        return 1.0 / max(
            1,
            sum(
                root_account.shares for root_account in settings.accounts.values() if not root_account.parent
            ),
        )
    sibling_shares = sum(
        sibling.shares for sibling in settings.accounts.values() if sibling.parent == account.parent
    )
    above = _share(account.parent, settings) if account.parent else 1.0
    return above * account.shares / sibling_shares if sibling_shares else 0.0
