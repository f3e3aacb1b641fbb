"""Compare two stored benches: values that changed by more than their spread, and versions that differ; pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.check.bench.measure import Condition, Measurement
from clusterwright.check.bench.store import Stored

# SuperBench's default for the variance allowed against a baseline.
LEAST_CHANGE = 0.05
UNIMPORTANT = frozenset({"pass"})  # conditions that may differ

Key = tuple[str, str, str, tuple[tuple[str, Condition], ...]]


@dataclass(frozen=True, slots=True)
class BenchChange:
    """One quantity of one subject in both runs, best of its repeats; `changed` if the difference exceeds the spread."""

    subject: str
    quantity: str
    unit: str
    conditions: Mapping[str, Condition]
    before: float
    after: float
    changed: bool

    @property
    def ratio(self) -> float:
        """The value after, divided by that before; infinite if that before is 0."""
        return self.after / self.before if self.before else float("inf")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes between two runs, the subjects measured in one run only, and the versions that differ."""

    changes: tuple[BenchChange, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    versions: tuple[tuple[str, str, str], ...]  # part, before, after


def compare(baseline: Stored, current: Stored) -> Comparison:
    """Compare two runs of a bench: the change of each value that both have, values in one only, and other versions.

    Values whose change exceeds the spread come first, then the lowest ratio.
    """
    baseline_values, current_values = _values(baseline.measurements), _values(current.measurements)
    changes = [
        _change(key, baseline_values[key], current_values[key])
        for key in baseline_values
        if key in current_values
    ]
    return Comparison(
        tuple(sorted(changes, key=lambda change: (not change.changed, change.ratio))),
        tuple(dict.fromkeys(key[0] for key in baseline_values if key not in current_values)),
        tuple(dict.fromkeys(key[0] for key in current_values if key not in baseline_values)),
        tuple(_versions(baseline, current)),
    )


def _values(measurements: tuple[Measurement, ...]) -> dict[Key, list[float]]:
    values_by_key: dict[Key, list[float]] = {}
    for measurement in measurements:
        conditions = tuple(sorted((k, v) for k, v in measurement.conditions.items() if k not in UNIMPORTANT))
        values_by_key.setdefault(
            (measurement.subject, measurement.quantity, measurement.unit, conditions), []
        ).append(measurement.value)
    return values_by_key


def _change(key: Key, baseline_values: list[float], current_values: list[float]) -> BenchChange:
    subject, quantity, unit, conditions = key
    best = min if unit == "s" else max
    baseline, current = best(baseline_values), best(current_values)
    spread = max(_spread(baseline_values), _spread(current_values), LEAST_CHANGE)
    return BenchChange(
        subject,
        quantity,
        unit,
        dict(conditions),
        baseline,
        current,
        abs(current - baseline) > spread * baseline,
    )


def _spread(values: list[float]) -> float:
    """Return the range of the repeats as a share of their median; 0 if the median is 0."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def _versions(baseline: Stored, current: Stored) -> list[tuple[str, str, str]]:
    parts = dict.fromkeys(
        part for run in (baseline, current) for host in run.versions.values() for part in host
    )
    rows = [(part, _host_versions(baseline, part), _host_versions(current, part)) for part in parts]
    return [row for row in rows if row[1] != row[2]]


def _host_versions(run: Stored, part: str) -> str:
    """Return a part's versions on all hosts as one text."""
    return ", ".join(sorted({host.get(part) or "none" for host in run.versions.values()}))
