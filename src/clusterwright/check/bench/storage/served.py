"""The shared folder: all hosts at once, then one by itself, to tell a slow server from one host's slow way to it.

A server that gives all hosts together less than half of what it gives one is slow for all. A host that has less
than half of what the others have, and is further from them than they are from each other, is looked for in smaller
and smaller groups (`bisect.py`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.check.bench.alone import Alone, Figure, Figures, once, rows, seen_in, unknown
from clusterwright.check.bench.culprits.bisect import Found, Group, bisect
from clusterwright.check.bench.fleet import FAR, factors
from clusterwright.check.bench.judging import judge, suspect
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.bench.storage.folder import LASTING
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold

ENOUGH = 0.5  # ours: hosts that share a server differ by less, also on a busy one
TWO = 2
AT_SERVER = "look at the server and its link: load, disks, threads of nfsd, and what else uses it"
SHARED = "look at what they share: the server, the switch, their mount options"


@dataclass(slots=True)
class Served:
    """The rounds over a shared folder, and how much of each lasting quantity is enough."""

    site: Site
    alone: Alone
    path: str
    passes: list[Figures] = field(default_factory=list)
    least: Mapping[str, float] = field(default_factory=dict)

    def once(self, hosts: Group) -> tuple[Figures, dict[str, str]]:
        """These hosts at once; noted."""
        found, failed = once(self.site, self.alone, hosts)
        self.passes.append(found)
        return found, failed

    def slow(self, groups: tuple[Group, ...]) -> tuple[bool, ...]:
        """All groups at once; a group is slow when one of its hosts is, or has no answer."""
        found, _failed = self.once(tuple(host for group in groups for host in group))
        bad = {*self.behind(found)} | {host for group in groups for host in group if host not in found}
        slow = tuple(bool(bad & {*group}) for group in groups)
        said = [f"{fold(list(g))}{' slow' if s else ''}" for g, s in zip(groups, slow, strict=True)]
        self.site.say(f"{self.path}, bisecting: {'; '.join(said)}")
        return slow

    def behind(self, figures: Figures) -> dict[str, str]:
        """Hosts that have too little, in two quantities at least: what disturbs a host seldom disturbs two."""
        found: dict[str, str] = {}
        for host in figures:
            lasting = _lasting(figures, host)
            low = [each for each in lasting if each.value < self.least.get(each.quantity, 0.0)]
            if low and len(low) >= min(TWO, len(lasting)):
                found[host] = ", ".join(f"{each.quantity} {amount(each.value, each.unit)}" for each in low)
        return found


def served(site: Site, alone: Alone, path: str) -> Outcome:
    """Figures of every host, whether the server holds all of them, and whose way to it is slow."""
    look = Served(site, alone, path)
    first, failed = look.once(site.stage.hosts)
    values = _values(first)
    usual = {name: statistics.median(several) for name, several in values.items()}
    look.least = {name: usual[name] * _enough(several) for name, several in values.items()}
    itself = _by_itself(look, usual) if usual and len(first) > 1 else {}
    verdicts, notes = [*_of_server(path, tuple(first), usual, itself)], []
    if look.behind(first) and itself:
        found = bisect(tuple(first), look.slow, known=True)
        verdicts += _named(look, found)
        seen = "" if found.hosts or found.open else ": slow once, and not again"
        notes.append(f"{path}: {2 + found.rounds} rounds, {len(first)} hosts{seen}")
    elif any(suspect(seen, None) for seen in seen_in([first])):
        look.once(site.stage.hosts)
    verdicts += [judge("storage", seen, None, alone.mend) for seen in seen_in(look.passes)]
    kept = (*rows("storage", look.passes), *rows("storage", [itself], at_once=1))
    return Outcome(kept, (*verdicts, *unknown("storage", failed)), tuple(notes))


def _lasting(figures: Figures, host: str) -> list[Figure]:
    """Those that were measured for seconds: less is over before a busy host has begun."""
    return [each for each in figures[host] if each.quantity in LASTING]


def _values(figures: Figures) -> dict[str, list[float]]:
    """By lasting quantity."""
    values: dict[str, list[float]] = {}
    for host in figures:
        for each in _lasting(figures, host):
            values.setdefault(each.quantity, []).append(each.value)
    return values


def _enough(values: list[float]) -> float:
    """The share of the median that is enough: less where hosts differ by more, as on a busy machine."""
    return min(ENOUGH, math.exp(-FAR * factors(values)))


def _by_itself(look: Served, usual: Mapping[str, float]) -> Figures:
    """The host that did best among all has the server to itself."""
    first = look.passes[0]

    def share(host: str) -> float:
        return sum(each.value / (usual[each.quantity] or 1.0) for each in _lasting(first, host))

    return once(look.site, look.alone, (max(first, key=share),))[0]


def _of_server(path: str, hosts: Group, usual: Mapping[str, float], itself: Figures) -> Iterator[Verdict]:
    """What all have together, of the quantity in which that is least beside what one has by itself."""
    lone = [each for host in itself for each in _lasting(itself, host) if each.value]
    if not lone:
        return
    worst = min(lone, key=lambda each: usual[each.quantity] / each.value)
    together = usual[worst.quantity] * len(hosts)
    slow = together < ENOUGH * worst.value
    saw = f"slow for all: {worst.quantity}" if slow else worst.quantity
    saw += f": all together {amount(together, worst.unit)}, one by itself {amount(worst.value, worst.unit)}"
    want = f"all together at least {ENOUGH:.0%} of what one has by itself"
    status, mend = (Status.WARN, AT_SERVER) if slow else (Status.OK, "")
    yield Verdict(fold(list(hosts)), "storage", status, saw, want, mend, path)


def _named(look: Served, found: Found) -> Iterator[Verdict]:
    """Hosts that were slow in every group, whose others were well; groups in which nothing tells one from another."""
    want = f"at least {ENOUGH:.0%} of what the others have"
    last: dict[str, str] = {}
    for figures in look.passes:
        last |= look.behind(figures)
    for host in found.hosts:
        saw = f"slow in every group, whose others are well: {last.get(host, 'no answer')}"
        yield Verdict(host, "storage", Status.FAIL, saw, want, look.alone.mend, look.path)
    for (
        group
    ) in found.open:  # between halves that were well there is nothing: both were measured at the same time
        saw = "slow together, and nothing tells one from another"
        yield Verdict(fold(list(group)), "storage", Status.WARN, saw, want, SHARED, look.path)
