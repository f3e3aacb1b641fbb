"""Measure local disks of all hosts at the same time, as hosts do not share them; repeat all if one is low.

A disk is expected to be as fast as equal disks in other hosts at that time. It fails if it is below half of
their median, twice, and is an outlier in that quantity and in the mean of all: a disturbance seldom
affects all quantities. Distances are of logarithms, as rates of disks in use differ by factors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.fleet import FEWEST, OUTLIER_DEVIATIONS, TINY, factors
from clusterwright.check.bench.host_bench import (
    BenchFigure,
    Figures,
    HostBench,
    observations,
    rows,
    run_pass,
    unknown,
)
from clusterwright.check.bench.judging import judge
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.storage import folder
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.nodes import Disk
from clusterwright.i18n import N_, _

ENOUGH = 0.5  # ours: disks of one kind and age differ by a fifth, a failing one reaches a tenth
FIX = N_("check the disk's health and errors on the host: smartctl -a, nvme smart-log, journalctl -k")
GRAVE = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.OK)
MIN_REPEATS = 2


def scratch(site: BenchSite) -> tuple[BenchOutcome, ...]:
    """Measure the local disks of all hosts; return one outcome for each path and kind of disk."""
    return tuple(_of_equals(site, path, hosts) for (path, _disk), hosts in equals(site).items())


def equals(site: BenchSite) -> dict[tuple[str, Disk], tuple[str, ...]]:
    """Return hosts by path and disk, as declared: hosts with equal disks at the same path."""
    hosts_by_disk: dict[tuple[str, Disk], tuple[str, ...]] = {}
    for name in site.stage.hosts:
        for disk in site.host(name).group.disks:
            if disk.mount:
                hosts_by_disk[disk.mount, disk] = (*hosts_by_disk.get((disk.mount, disk), ()), name)
    return hosts_by_disk


@dataclass(frozen=True, slots=True)
class RelativeFigure:
    """A figure of one host from its best pass: its share of the median of equal disks in that pass."""

    host: str
    figure: BenchFigure
    usual: float
    hosts: int
    times: int
    deviations: float = 0.0

    @property
    def share(self) -> float:
        """The figure as a share of the median of equal disks; 1 if the median is 0."""
        return self.figure.value / self.usual if self.usual else 1.0

    @property
    def low(self) -> bool:
        """True if the figure is below half of the median of equal disks, measured on at least three hosts."""
        return self.hosts >= FEWEST and self.share < ENOUGH

    def verdict(self, path: str) -> Verdict:
        """Return `fail` for a low outlier in two measurements, `warn` in one; low without being an outlier is OK.

        Unknown for fewer than three hosts.
        """
        bad = self.low and self.deviations < -OUTLIER_DEVIATIONS
        status = (Status.FAIL if self.times >= MIN_REPEATS else Status.WARN) if bad else Status.OK
        status = status if self.hosts >= FEWEST else Status.UNKNOWN
        observed = _(
            "{quantity}: {amount}, best of {times}",
            quantity=self.figure.quantity,
            amount=amount(self.figure.value, self.figure.unit),
            times=self.times,
        )
        usual = amount(self.usual, self.figure.unit)
        expected = _(
            "{enough:.0%} of {usual}, the median of {hosts} hosts with equal disks at that time",
            enough=ENOUGH,
            usual=usual,
            hosts=self.hosts,
        )
        return Verdict(self.host, "storage", status, observed, expected, FIX if bad else "", path)


def relative_figures(passes: Sequence[Figures]) -> list[RelativeFigure]:
    """Return every host's figures of `LASTING` quantities, by the best pass; short measurements are too noisy."""
    best: dict[tuple[str, str], RelativeFigure] = {}
    for figures in passes:
        for relative in _of_pass(figures):
            key = relative.figure.quantity, relative.host
            previous = best.get(key, replace(relative, times=0))
            larger = relative if relative.share > previous.share else previous
            best[key] = replace(larger, times=previous.times + 1)
    logs: dict[str, dict[str, float]] = {}
    for (quantity, host), relative in best.items():
        logs.setdefault(quantity, {})[host] = math.log(max(relative.share, TINY))
    deviations_by_quantity = {quantity: _deviations(host_logs) for quantity, host_logs in logs.items()}
    mean_deviations = _deviations({host: _mean_log(logs, host) for _quantity, host in best}) if best else {}
    return [
        replace(relative, deviations=max(deviations_by_quantity[quantity][host], mean_deviations[host]))
        for (quantity, host), relative in best.items()
    ]


def _of_pass(figures: Figures) -> Iterator[RelativeFigure]:
    values: dict[str, list[float]] = {}
    lasting = [
        (host, figure) for host in figures for figure in figures[host] if figure.quantity in folder.LASTING
    ]
    for _host, figure in lasting:
        values.setdefault(figure.quantity, []).append(figure.value)
    for host, figure in lasting:
        several = values[figure.quantity]
        yield RelativeFigure(host, figure, statistics.median(several), len(several), 1)


def _mean_log(logs: Mapping[str, Mapping[str, float]], host: str) -> float:
    return statistics.fmean(host_logs[host] for host_logs in logs.values() if host in host_logs)


def _deviations(logs: Mapping[str, float]) -> dict[str, float]:
    """Return how many deviations each host is above the median (negative: below)."""
    middle, spread = statistics.median(logs.values()), factors(map(math.exp, logs.values()))
    return {host: (value - middle) / spread for host, value in logs.items()}


def _of_equals(site: BenchSite, path: str, hosts: Sequence[str]) -> BenchOutcome:
    part = folder.part(site, path)
    host_bench = HostBench("storage", lambda _host: part, folder.figures, FIX)
    first_pass, failed = run_pass(site, host_bench, hosts)
    passes: list[Figures] = [first_pass]
    if low := dict.fromkeys(relative.host for relative in relative_figures(passes) if relative.low):
        site.log(_("the bench measures {path} again because of {low}", path=path, low=", ".join(low)))
        passes.append(run_pass(site, host_bench, [*first_pass])[0])
    verdicts = (*_verdicts(path, passes), *unknown("storage", failed, path))
    note = _("{path}: {rounds} rounds, {hosts} hosts", path=path, rounds=len(passes), hosts=len(hosts))
    return BenchOutcome(tuple(rows("storage", passes, folder=path)), verdicts, (note,))


def _verdicts(path: str, passes: Sequence[Figures]) -> tuple[Verdict, ...]:
    """Return a verdict on each host, by its worst quantity; by small files only without longer measurements."""
    ordered = sorted(relative_figures(passes), key=lambda relative: relative.share)
    verdicts = [relative.verdict(path) for relative in ordered] or [
        replace(verdict, observed=f"{observation.part}: {verdict.observed}", part=path)
        for observation in observations(passes)
        for verdict in [judge("storage", observation, None, FIX)]
    ]
    worst: dict[str, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: GRAVE.index(verdict.status)):
        worst.setdefault(verdict.subject, verdict)
    return tuple(worst.values())
