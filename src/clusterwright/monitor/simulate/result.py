"""What a replay says: how much of the cluster worked, how long teams waited, and how fairly it was shared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.monitor.simulate.engine import Outcome, Ran
from clusterwright.monitor.simulate.settings import Settings

NOTHING = 1e-9  # in floating point
SHORT_S = 600.0  # a job shorter than this counts as so long in its slowdown (Feitelson's bounded slowdown; his is 10 s)


@dataclass(frozen=True, slots=True)
class Waits:
    """Of some jobs: seconds in the queue, and how many times as long as they ran it took until they were done."""

    jobs: int
    median_s: float
    p90_s: float
    slowdown: float  # mean of the bounded slowdowns


@dataclass(frozen=True, slots=True)
class TeamResult:
    """One team: GPU hours that it got while jobs came, and those that its shares promised it of what it asked."""

    waits: Waits
    got_hours: float
    promised_hours: float


@dataclass(frozen=True, slots=True)
class Result:
    """Ratios from 0 to 1; `used` is what jobs asked for and had, `held` what nobody else could have meanwhile.

    All but `span_s` is of the time from the first submission to the last: afterwards a queue only empties.
    """

    name: str
    used: float
    held: float
    waits: Waits
    fairness: float  # Jain's index of got over promised
    teams: Mapping[str, TeamResult]
    span_s: float  # until the last job was done
    never: int
    cut: int
    moved: int
    still: int  # jobs that had not begun when the last one came
    strangers: tuple[str, ...] = ()  # teams that the settings do not name
    left_out: tuple[str, ...] = ()


def result(of: Outcome) -> Result:
    """Worked out from all that ran."""
    ran, settings = of.ran, of.settings
    gpus = any(each.gpus for each in ran)
    begin = min((each.job.submit for each in ran), default=0.0)
    last = max((each.job.submit for each in ran), default=0.0)
    over = max((each.end for each in ran), default=0.0)
    end = last if last > begin else over
    room = (settings.gpus if gpus else settings.cpus) * (end - begin)
    used = sum((each.gpus if gpus else each.cpus) * _within(each, begin, end) for each in ran)
    held = sum((each.held if gpus else each.cpus) * _within(each, begin, end) for each in ran)
    teams = _teams(ran, settings, begin, end)
    return Result(
        settings.name,
        used / room if room else 0.0,
        held / room if room else 0.0,
        _waits(ran),
        jain([team.got_hours / team.promised_hours for team in teams.values() if team.promised_hours]),
        teams,
        over - begin,
        len(of.never),
        sum(each.cut for each in ran),
        of.moved,
        sum(each.start > end for each in ran),
        tuple(team for team in teams if settings.accounts and team not in settings.accounts),
        settings.left_out,
    )


def jain(values: Sequence[float]) -> float:
    """1 where all are equal, 1/n where one has all (Jain, Chiu and Hawe 1984)."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def quantile(values: Sequence[float], part: float) -> float:
    """The smallest value that so much of all does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0


def promised(asked: Mapping[str, float], shares: Mapping[str, float], room: float) -> dict[str, float]:
    """What each is owed of a room: its share, and of what others do not ask for, again its share."""
    owed, left, hungry = dict.fromkeys(asked, 0.0), room, {team for team in asked if asked[team] > 0}
    while hungry and left > NOTHING:
        total = sum(shares.get(team, 1.0) for team in hungry)
        if not total:
            break
        full = {team for team in hungry if asked[team] - owed[team] <= left * shares.get(team, 1.0) / total}
        if not full:
            for team in hungry:
                owed[team] += left * shares.get(team, 1.0) / total
            break
        for team in full:
            left -= asked[team] - owed[team]
            owed[team] = asked[team]
        hungry -= full
    return owed


def _within(each: Ran, begin: float, end: float) -> float:
    return max(0.0, min(each.end, end) - max(each.start, begin))


def _waits(ran: Sequence[Ran]) -> Waits:
    waits = [each.start - each.job.submit for each in ran]
    slow = [max(1.0, (each.end - each.job.submit) / max(each.end - each.start, SHORT_S)) for each in ran]
    return Waits(len(ran), quantile(waits, 0.5), quantile(waits, 0.9), sum(slow) / len(slow) if slow else 0.0)


def _teams(ran: Sequence[Ran], settings: Settings, begin: float, end: float) -> dict[str, TeamResult]:
    by_team: dict[str, list[Ran]] = {}
    for each in ran:
        by_team.setdefault(each.job.team, []).append(each)
    hours = {
        team: sum((each.gpus or each.cpus) * _within(each, begin, end) for each in jobs) / 3600
        for team, jobs in by_team.items()
    }
    asked = {
        team: sum((each.gpus or each.cpus) * (each.end - each.start) for each in jobs) / 3600
        for team, jobs in by_team.items()
    }
    shares = {team: _share(team, settings) for team in by_team}
    owed = promised(asked, shares, sum(hours.values()))
    return {
        team: TeamResult(_waits(by_team[team]), hours[team], owed[team])
        for team in sorted(by_team, key=lambda team: -hours[team])
    }


def _share(team: str, settings: Settings) -> float:
    """A team's part of the whole, through all above it; one share where nobody named it."""
    account = settings.accounts.get(team)
    if account is None:
        return 1.0 / max(1, sum(each.shares for each in settings.accounts.values() if not each.parent))
    beside = sum(each.shares for each in settings.accounts.values() if each.parent == account.parent)
    above = _share(account.parent, settings) if account.parent else 1.0
    return above * account.shares / beside if beside else 0.0
