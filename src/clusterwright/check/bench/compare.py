"""Two stored benches beside each other: what changed by more than its own spread, and which versions differ; pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.store import Stored

# What SuperBench takes for a variance against its baseline by default.
LEAST_CHANGE = 0.05
UNIMPORTANT = frozenset({"pass"})  # conditions that need not be equal

Key = tuple[str, str, str, tuple[tuple[str, Condition], ...]]


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity of one subject in both runs, by the best of its repeats; `changed` when beyond the spread."""

    subject: str
    quantity: str
    unit: str
    conditions: Mapping[str, Condition]
    before: float
    after: float
    changed: bool

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before if self.before else float("inf")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both runs measured, what only one did, and the versions that are not the same."""

    changes: tuple[Change, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    versions: tuple[tuple[str, str, str], ...]  # part, before, after


def compare(before: Stored, after: Stored) -> Comparison:
    """The later run against the earlier one."""
    one, other = _values(before.measurements), _values(after.measurements)
    changes = [_change(key, one[key], other[key]) for key in one if key in other]
    return Comparison(
        tuple(sorted(changes, key=lambda change: (not change.changed, change.ratio))),
        tuple(dict.fromkeys(key[0] for key in one if key not in other)),
        tuple(dict.fromkeys(key[0] for key in other if key not in one)),
        tuple(_versions(before, after)),
    )


def _values(measurements: tuple[Measurement, ...]) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = {}
    for each in measurements:
        kept = tuple(sorted((k, v) for k, v in each.conditions.items() if k not in UNIMPORTANT))
        found.setdefault((each.subject, each.quantity, each.unit, kept), []).append(each.value)
    return found


def _change(key: Key, one: list[float], other: list[float]) -> Change:
    subject, quantity, unit, conditions = key
    best = min if unit == "s" else max
    before, after = best(one), best(other)
    spread = max(_spread(one), _spread(other), LEAST_CHANGE)
    return Change(
        subject, quantity, unit, dict(conditions), before, after, abs(after - before) > spread * before
    )


def _spread(values: list[float]) -> float:
    """Of repeats, as a share of their median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def _versions(before: Stored, after: Stored) -> list[tuple[str, str, str]]:
    parts = dict.fromkeys(part for run in (before, after) for host in run.versions.values() for part in host)
    rows = [(part, _of(before, part), _of(after, part)) for part in parts]
    return [row for row in rows if row[1] != row[2]]


def _of(run: Stored, part: str) -> str:
    """The versions of a part on all hosts, as one text."""
    return ", ".join(sorted({host.get(part) or "none" for host in run.versions.values()}))
