"""Local disks of all hosts: measured at the same time, as hosts do not share them, and all once more where one is low.

What is expected of a disk is what equal disks do in other hosts at that time. One fails that does less than half of
their median, twice, and is far behind all of them in that quantity and in all together: what disturbs a host seldom
disturbs all quantities. Distances are those of logarithms, as rates of disks in use differ by factors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterwright.check.bench.alone import Alone, Figure, Figures, once, rows, seen_in, unknown
from clusterwright.check.bench.fleet import FAR, FEWEST, TINY, factors
from clusterwright.check.bench.judging import judge
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.bench.storage import folder
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.nodes import Disk

ENOUGH = 0.5  # ours: disks of one kind and age differ by a fifth, one that fails does a tenth
MEND = "see its health and errors on that host: smartctl -a, nvme smart-log, journalctl -k"
GRAVE = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.OK)
TWICE = 2


def scratch(site: Site) -> tuple[Outcome, ...]:
    """One outcome for each path, and for equal disks there."""
    return tuple(_of_equals(site, path, hosts) for (path, _disk), hosts in equals(site).items())


def equals(site: Site) -> dict[tuple[str, Disk], tuple[str, ...]]:
    """Hosts by the path and the make of a local disk that they all have."""
    found: dict[tuple[str, Disk], tuple[str, ...]] = {}
    for name in site.stage.hosts:
        for disk in site.host(name).group.disks:
            if disk.mount:
                found[disk.mount, disk] = (*found.get((disk.mount, disk), ()), name)
    return found


@dataclass(frozen=True, slots=True)
class Beside:
    """A lasting quantity of one host in its best pass: its share of the median of equal disks in that pass."""

    host: str
    figure: Figure
    usual: float
    hosts: int
    times: int
    deviations: float = 0.0

    @property
    def share(self) -> float:
        """Of the median; 1 where there is none."""
        return self.figure.value / self.usual if self.usual else 1.0

    @property
    def low(self) -> bool:
        """Less than enough."""
        return self.hosts >= FEWEST and self.share < ENOUGH

    def verdict(self, path: str) -> Verdict:
        """`fail` where it is low and far behind in two measurements, `warn` in one; low as others are is no fault."""
        bad = self.low and self.deviations < -FAR
        status = (Status.FAIL if self.times >= TWICE else Status.WARN) if bad else Status.OK
        status = status if self.hosts >= FEWEST else Status.UNKNOWN
        saw = f"{self.figure.quantity}: {amount(self.figure.value, self.figure.unit)}, best of {self.times}"
        usual = amount(self.usual, self.figure.unit)
        want = f"{ENOUGH:.0%} of {usual}, the median of {self.hosts} hosts with equal disks at that time"
        return Verdict(self.host, "storage", status, saw, want, MEND if bad else "", path)


def beside(passes: Sequence[Figures]) -> list[Beside]:
    """Every lasting quantity of every host; what takes a moment only is too uneven to say anything of a disk."""
    best: dict[tuple[str, str], Beside] = {}
    for figures in passes:
        for each in _of_pass(figures):
            key = each.figure.quantity, each.host
            before = best.get(key, replace(each, times=0))
            larger = each if each.share > before.share else before
            best[key] = replace(larger, times=before.times + 1)
    logs: dict[str, dict[str, float]] = {}
    for (quantity, host), each in best.items():
        logs.setdefault(quantity, {})[host] = math.log(max(each.share, TINY))
    far = {quantity: _deviations(found) for quantity, found in logs.items()}
    whole = _deviations({host: _mean(logs, host) for _quantity, host in best}) if best else {}
    return [
        replace(each, deviations=max(far[quantity][host], whole[host]))
        for (quantity, host), each in best.items()
    ]


def _of_pass(figures: Figures) -> Iterator[Beside]:
    values: dict[str, list[float]] = {}
    lasting = [(host, each) for host in figures for each in figures[host] if each.quantity in folder.LASTING]
    for _host, each in lasting:
        values.setdefault(each.quantity, []).append(each.value)
    for host, each in lasting:
        several = values[each.quantity]
        yield Beside(host, each, statistics.median(several), len(several), 1)


def _mean(logs: Mapping[str, Mapping[str, float]], host: str) -> float:
    return statistics.fmean(found[host] for found in logs.values() if host in found)


def _deviations(logs: Mapping[str, float]) -> dict[str, float]:
    """How far above (or, negative, below) the median each host is."""
    middle, spread = statistics.median(logs.values()), factors(map(math.exp, logs.values()))
    return {host: (value - middle) / spread for host, value in logs.items()}


def _of_equals(site: Site, path: str, hosts: Sequence[str]) -> Outcome:
    part = folder.part(site, path)
    alone = Alone("storage", lambda _host: part, folder.figures, MEND)
    first, failed = once(site, alone, hosts)
    passes: list[Figures] = [first]
    if low := dict.fromkeys(each.host for each in beside(passes) if each.low):
        site.say(f"{path} measured again, because of {', '.join(low)}")
        passes.append(once(site, alone, [*first])[0])
    verdicts = (*_verdicts(path, passes), *unknown("storage", failed, path))
    note = f"{path}: {len(passes)} rounds, {len(hosts)} hosts"
    return Outcome(tuple(rows("storage", passes, folder=path)), verdicts, (note,))


def _verdicts(path: str, passes: Sequence[Figures]) -> tuple[Verdict, ...]:
    """One for each host, of the quantity that it is worst in; of small files only where nothing lasts longer."""
    ordered = sorted(beside(passes), key=lambda each: each.share)
    verdicts = [each.verdict(path) for each in ordered] or [
        replace(verdict, saw=f"{each.part}: {verdict.saw}", part=path)
        for each in seen_in(passes)
        for verdict in [judge("storage", each, None, MEND)]
    ]
    found: dict[str, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: GRAVE.index(verdict.status)):
        found.setdefault(verdict.subject, verdict)
    return tuple(found.values())
