"""From what pairs measured to what each host and each way can do; pure.

A host is as fast as with its best partner: so one slow host does not make its partners look slow, and a way
between two hosts is slow only where both do better with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.judging import Expectation, Seen, judge, suspect
from clusterwright.check.bench.measure import pair
from clusterwright.check.bench.rounds import Pair
from clusterwright.check.verdict import Status, Verdict

Speeds = Mapping[Pair, float]  # by source and target, bytes/s
SENDS, RECEIVES = "sending", "receiving"
WAYS = {SENDS: 0, RECEIVES: 1}  # place of the host in the pair
# Ours: less is no noise of one run, and more than a flow that shares an uplink with one other can lose unnoticed.
OF_ENDS = Expectation(1.0, "of that", "what both ends do with others", 0.8)
REPEATS_WITH = 2  # partners that a host in doubt is measured with again: one of them may be at fault itself


@dataclass(frozen=True, slots=True)
class Passes:
    """The speeds of each pass over the pairs; the first one has all of them."""

    passes: tuple[Speeds, ...]

    def hosts(self) -> tuple[str, ...]:
        """Everyone that measured something."""
        return tuple(dict.fromkeys(host for ends in self.passes[0] for host in ends)) if self.passes else ()


def in_doubt(seen: Passes, want: Expectation | None) -> tuple[Pair, ...]:
    """Pairs to measure once more: those of hosts in doubt with their best partners, and ways in doubt."""
    hosts = dict.fromkeys(each.subject for each in _hosts(seen) if suspect(each, want))
    partners = _best_partners(seen.passes[0]) if hosts else {}
    found = [ends for host in hosts for ends in partners[host]] + [ends for ends, _ in slow_ways(seen)]
    return tuple({frozenset(ends): ends for ends in found}.values())


def verdicts(seen: Passes, want: Expectation | None, network: str) -> tuple[Verdict, ...]:
    """One for each host, the worse of its two directions; one for each way that is slow."""
    mend = f"look at the host's port on {network}: cable, switch port, negotiated rate, errors (ethtool -S)"
    found: dict[str, Verdict] = {}
    for each in _hosts(seen):
        verdict = judge("network", each, want, mend)
        other = found.get(each.subject)
        found[each.subject] = verdict if other is None else _worse(other, verdict)
    return (*found.values(), *_slow_ways(seen, network))


def unmeasured(seen: Passes, failed: Mapping[Pair, str], hosts: Iterable[str]) -> Iterator[Verdict]:
    """Hosts that no pair could be measured with, and ways that failed twice though both their ends do well."""
    measured = frozenset(seen.hosts())
    silent = {
        host: why for host in hosts if host not in measured for ends, why in failed.items() if host in ends
    }
    for host, why in silent.items():
        status = Status.FAIL if measured else Status.UNKNOWN
        mend = "see that it is reached on this network: link, address, firewall" if measured else ""
        yield Verdict(host, "network", status, f"no pair with it could be measured: {why}", mend=mend)
    for ends, why in failed.items():
        if not {*ends} & silent.keys():
            mend = "see what lies between the two: routing, firewall, MTU"
            yield Verdict(pair(*ends), "network", Status.FAIL, f"failed twice: {why}", mend=mend, part="way")


def _slow_ways(seen: Passes, network: str) -> Iterator[Verdict]:
    mend = f"look at what joins the two on {network}: their switches' uplinks, routing, and hashing of flows"
    return (judge("network", way, OF_ENDS, mend) for _ends, way in slow_ways(seen))


def _hosts(seen: Passes) -> Iterator[Seen]:
    """Each host and direction, by its best partner in each pass that it took part in."""
    for way in WAYS:
        best = [_best(speeds, way) for speeds in seen.passes]
        values = {host: tuple(each[host] for each in best if host in each) for host in seen.hosts()}
        values = {host: several for host, several in values.items() if several}
        usual = fleet(max(several) for several in values.values())
        for host, several in values.items():
            yield Seen(host, several, usual, "bytes/s", way)


def slow_ways(seen: Passes) -> Iterator[tuple[Pair, Seen]]:
    """Ways with less than enough of what both ends do with others, as far as was known when each was measured."""
    shares: dict[Pair, tuple[float, ...]] = {}
    sends: dict[str, float] = {}
    receives: dict[str, float] = {}
    for speeds in seen.passes:
        sends, receives = _larger(sends, _best(speeds, SENDS)), _larger(receives, _best(speeds, RECEIVES))
        for (source, target), rate in speeds.items():
            able = min(sends[source], receives[target])
            shares[source, target] = (*shares.get((source, target), ()), rate / able if able else 0.0)
    best = {ends: max(several) for ends, several in shares.items()}
    usual = fleet(best.values())
    for ends, share in best.items():
        if share < OF_ENDS.least:
            yield ends, Seen(pair(*ends), shares[ends], usual, OF_ENDS.unit, "way")


def _best(speeds: Speeds, way: str) -> dict[str, float]:
    """What each host did with its best partner in one direction."""
    found: dict[str, float] = {}
    for ends, rate in speeds.items():
        host = ends[WAYS[way]]
        found[host] = max(rate, found.get(host, 0.0))
    return found


def _larger(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {host: max(one.get(host, 0.0), other.get(host, 0.0)) for host in {**one, **other}}


def _best_partners(speeds: Speeds) -> dict[str, list[Pair]]:
    """Each host's fastest pairs, in either direction."""
    found: dict[str, dict[frozenset[str], Pair]] = {}
    for ends in sorted(speeds, key=lambda ends: -speeds[ends]):
        for host in ends:
            mine = found.setdefault(host, {})
            if len(mine) < REPEATS_WITH:
                mine.setdefault(frozenset(ends), ends)
    return {host: list(mine.values()) for host, mine in found.items()}


def _worse(one: Verdict, other: Verdict) -> Verdict:
    order = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.OK)
    return min((one, other), key=lambda verdict: order.index(verdict.status))
