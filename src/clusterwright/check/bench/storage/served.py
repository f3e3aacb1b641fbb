"""Measure the shared folder from all hosts at once, then from one alone, to tell a slow server from a slow host.

A server that gives all hosts together less than half of what it gives one is slow for all. A host that gets less
than half of what the others get, and differs from them more than they differ from each other, is bisected in
smaller and smaller groups (`bisect.py`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.bisect import Bisection, Group, bisect
from clusterwright.check.bench.fleet import OUTLIER_DEVIATIONS, factors
from clusterwright.check.bench.host_bench import (
    BenchFigure,
    Figures,
    HostBench,
    observations,
    rows,
    run_pass,
    unknown,
)
from clusterwright.check.bench.judging import judge, suspect
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.storage.folder import LASTING
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold
from clusterwright.i18n import N_, _

ENOUGH = 0.5  # ours: hosts that share a server differ by less, also on a busy one
TWO = 2
AT_SERVER = N_("check the file server and its link: load, disks, nfsd threads, other clients")
SHARED = N_("check what these hosts share: the server, the switch, the mount options")


@dataclass(slots=True)
class Served:
    """The passes over a shared folder, and the lowest acceptable value of each quantity."""

    site: BenchSite
    host_bench: HostBench
    path: str
    passes: list[Figures] = field(default_factory=list)
    least: Mapping[str, float] = field(default_factory=dict)

    def run_pass(self, hosts: Group) -> tuple[Figures, dict[str, str]]:
        """Measure these hosts at once, and store the pass; return their figures, and the errors of the rest."""
        figures, failed = run_pass(self.site, self.host_bench, hosts)
        self.passes.append(figures)
        return figures, failed

    def slow(self, groups: tuple[Group, ...]) -> tuple[bool, ...]:
        """Measure all groups of hosts at once; return True for each group of which a host is slow or did not answer."""
        figures, _failed = self.run_pass(tuple(host for group in groups for host in group))
        bad = {*self.slow_hosts(figures)} | {
            host for group in groups for host in group if host not in figures
        }
        slow = tuple(bool(bad & {*group}) for group in groups)
        lines = [f"{fold(list(g))}{' slow' if s else ''}" for g, s in zip(groups, slow, strict=True)]
        self.site.log(f"{self.path}, bisecting: {'; '.join(lines)}")
        return slow

    def slow_hosts(self, figures: Figures) -> dict[str, str]:
        """Return the low figures, as text, of hosts that are too low in at least two lasting quantities.

        A disturbance seldom affects two. If there is only one such quantity, it is enough.
        """
        shortfalls: dict[str, str] = {}
        for host in figures:
            lasting = _lasting(figures, host)
            low = [figure for figure in lasting if figure.value < self.least.get(figure.quantity, 0.0)]
            if low and len(low) >= min(TWO, len(lasting)):
                shortfalls[host] = ", ".join(
                    f"{figure.quantity} {amount(figure.value, figure.unit)}" for figure in low
                )
        return shortfalls


def served(site: BenchSite, host_bench: HostBench, path: str) -> BenchOutcome:
    """Measure the folder on all hosts at once, then on one alone; judge the server, and find slow hosts.

    If a host is slow, groups of hosts are measured until it is found; if one is only an outlier, all hosts are measured
    once more.
    """
    folder_bench = Served(site, host_bench, path)
    first_pass, failed = folder_bench.run_pass(site.stage.hosts)
    values = _values(first_pass)
    usual = {name: statistics.median(several) for name, several in values.items()}
    folder_bench.least = {name: usual[name] * _enough(several) for name, several in values.items()}
    itself = _by_itself(folder_bench, usual) if usual and len(first_pass) > 1 else {}
    verdicts, notes = [*_of_server(path, tuple(first_pass), usual, itself)], []
    if folder_bench.slow_hosts(first_pass) and itself:
        bisection = bisect(tuple(first_pass), folder_bench.slow, is_slow=True)
        verdicts += _named(folder_bench, bisection)
        suffix = (
            ""
            if bisection.hosts or bisection.open
            else _("; hosts that were slow in the first round were not slow again")
        )
        notes.append(
            _(
                "{path}: {rounds} rounds, {count} hosts{suffix}",
                path=path,
                rounds=2 + bisection.rounds,
                count=len(first_pass),
                suffix=suffix,
            )
        )
    elif any(suspect(observation, None) for observation in observations([first_pass])):
        folder_bench.run_pass(site.stage.hosts)
    verdicts += [
        judge("storage", observation, None, host_bench.fix)
        for observation in observations(folder_bench.passes)
    ]
    measurements = (*rows("storage", folder_bench.passes), *rows("storage", [itself], at_once=1))
    return BenchOutcome(measurements, (*verdicts, *unknown("storage", failed)), tuple(notes))


def _lasting(figures: Figures, host: str) -> list[BenchFigure]:
    """Return the figures measured for seconds: shorter ones end before a busy host has begun."""
    return [figure for figure in figures[host] if figure.quantity in LASTING]


def _values(figures: Figures) -> dict[str, list[float]]:
    """Return the values of all hosts by quantity; only quantities whose measurement lasted seconds."""
    values: dict[str, list[float]] = {}
    for host in figures:
        for figure in _lasting(figures, host):
            values.setdefault(figure.quantity, []).append(figure.value)
    return values


def _enough(values: list[float]) -> float:
    """Return the acceptable share of the median: lower where hosts differ by more, as on a busy machine."""
    return min(ENOUGH, math.exp(-OUTLIER_DEVIATIONS * factors(values)))


def _by_itself(folder_bench: Served, usual: Mapping[str, float]) -> Figures:
    """Measure the folder once more on one host alone, that which was fastest in the first pass; return its figures.

    `usual` is the value of each quantity by which speeds are compared.
    """
    first_pass = folder_bench.passes[0]

    def share(host: str) -> float:
        return sum(figure.value / (usual[figure.quantity] or 1.0) for figure in _lasting(first_pass, host))

    return run_pass(folder_bench.site, folder_bench.host_bench, (max(first_pass, key=share),))[0]


def _of_server(path: str, hosts: Group, usual: Mapping[str, float], itself: Figures) -> Iterator[Verdict]:
    """Yield one verdict on the server: warn if all hosts together get less than half of what one gets alone, else OK.

    By the quantity in which they do worst; nothing if no lasting quantity was measured alone.
    """
    lone = [figure for host in itself for figure in _lasting(itself, host) if figure.value]
    if not lone:
        return
    worst = min(lone, key=lambda figure: usual[figure.quantity] / figure.value)
    total = usual[worst.quantity] * len(hosts)
    slow = total < ENOUGH * worst.value
    observed = _("slow for all hosts: {quantity}", quantity=worst.quantity) if slow else worst.quantity
    observed += _(
        ": all hosts together {amount}, one host alone {alone}",
        amount=amount(total, worst.unit),
        alone=amount(worst.value, worst.unit),
    )
    expected = _("all together at least {enough:.0%} of one host alone", enough=ENOUGH)
    status, fix = (Status.WARN, AT_SERVER) if slow else (Status.OK, "")
    yield Verdict(fold(list(hosts)), "storage", status, observed, expected, fix, path)


def _named(folder_bench: Served, bisection: Bisection) -> Iterator[Verdict]:
    """Yield a failure for each host that is slow in every group, and a warning for each group that stays undecided."""
    expected = _("at least {enough:.0%} of the median of all hosts", enough=ENOUGH)
    last: dict[str, str] = {}
    for figures in folder_bench.passes:
        last |= folder_bench.slow_hosts(figures)
    for host in bisection.hosts:
        observed = _(
            "slow in every group of hosts, whose other hosts are normal: {last}",
            last=last.get(host, _("no reply")),
        )
        yield Verdict(
            host, "storage", Status.FAIL, observed, expected, folder_bench.host_bench.fix, folder_bench.path
        )
    for group in bisection.open:  # not between fast halves: both were measured at the same time
        observed = _("these hosts are slow together; none of them stands out")
        yield Verdict(
            fold(list(group)), "storage", Status.WARN, observed, expected, SHARED, folder_bench.path
        )
