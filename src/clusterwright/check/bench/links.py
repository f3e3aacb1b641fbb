"""Derive each host's and each path's speed from the speeds of pairs; pure.

A host counts by its best partner: so one slow host does not make its partners look slow, and a path
between two hosts is slow only where both are faster with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.check.bench.fleet import fleet
from clusterwright.check.bench.judging import Expectation, Observation, judge, suspect
from clusterwright.check.bench.measure import pair
from clusterwright.check.bench.rounds import Pair
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

Speeds = Mapping[Pair, float]  # by source and target, bytes/s
SENDS, RECEIVES = "sending", "receiving"
DIRECTIONS = {SENDS: 0, RECEIVES: 1}  # index of the host in the pair
# Ours: smaller differences are noise of one run; a flow that shares an uplink with one other loses more.
OF_ENDS = Expectation(
    1.0, N_("of that"), N_("the rate that both hosts of the link reach with other hosts"), 0.8
)
REPEATS_WITH = 2  # partners that a host in doubt is measured with again: one of them may be at fault itself


@dataclass(frozen=True, slots=True)
class Passes:
    """The speeds of each pass over the pairs; the first pass has all pairs."""

    passes: tuple[Speeds, ...]

    def hosts(self) -> tuple[str, ...]:
        """Return every host of the pairs that the first pass measured."""
        return tuple(dict.fromkeys(host for ends in self.passes[0] for host in ends)) if self.passes else ()


def in_doubt(passes: Passes, expectation: Expectation | None) -> tuple[Pair, ...]:
    """Return pairs to measure once more: hosts in doubt with their best partners, and paths in doubt."""
    hosts = dict.fromkeys(
        observation.subject for observation in _hosts(passes) if suspect(observation, expectation)
    )
    partners = _best_partners(passes.passes[0]) if hosts else {}
    suspects = [ends for host in hosts for ends in partners[host]] + [ends for ends, _ in slow_links(passes)]
    return tuple({frozenset(ends): ends for ends in suspects}.values())


def verdicts(passes: Passes, expectation: Expectation | None, network: str) -> tuple[Verdict, ...]:
    """Return a verdict on each host, the worse of its two directions, and one on each slow path."""
    fix = _(
        "check the host's port on {network}: cable, switch port, negotiated rate, errors (ethtool -S)",
        network=network,
    )
    worst: dict[str, Verdict] = {}
    for observation in _hosts(passes):
        verdict = judge("network", observation, expectation, fix)
        previous = worst.get(observation.subject)
        worst[observation.subject] = verdict if previous is None else _worse(previous, verdict)
    return (*worst.values(), *_slow_link_verdicts(passes, network))


def unmeasured(passes: Passes, failed: Mapping[Pair, str], hosts: Iterable[str]) -> Iterator[Verdict]:
    """Yield verdicts on hosts without any measured pair, and on paths that failed twice between two working hosts.

    Only hosts in a pair of `failed` get one: fail, or unknown if no host has a measured pair.
    """
    reachable = frozenset(passes.hosts())
    failed_hosts = {
        host: reason
        for host in hosts
        if host not in reachable
        for ends, reason in failed.items()
        if host in ends
    }
    for host, reason in failed_hosts.items():
        status = Status.FAIL if reachable else Status.UNKNOWN
        fix = (
            _("make the host reachable on the measured network: link, address, firewall") if reachable else ""
        )
        yield Verdict(
            host,
            "network",
            status,
            _("no pair with this host could be measured: {reason}", reason=reason),
            fix=fix,
        )
    for ends, reason in failed.items():
        if not {*ends} & failed_hosts.keys():
            fix = _("check the route between the two hosts: routing, firewall, MTU")
            yield Verdict(
                pair(*ends),
                "network",
                Status.FAIL,
                _("failed twice: {reason}", reason=reason),
                fix=fix,
                part="way",
            )


def _slow_link_verdicts(passes: Passes, network: str) -> Iterator[Verdict]:
    fix = _(
        "check the route between the two hosts on {network}: uplinks of their switches, routing, flow hashing",
        network=network,
    )
    return (judge("network", observation, OF_ENDS, fix) for _ends, observation in slow_links(passes))


def _hosts(passes: Passes) -> Iterator[Observation]:
    """Yield an observation for each host and direction: its bytes/s with its best partner in each pass."""
    for direction in DIRECTIONS:
        best = [_best(speeds, direction) for speeds in passes.passes]
        values = {host: tuple(rates[host] for rates in best if host in rates) for host in passes.hosts()}
        values = {host: several for host, several in values.items() if several}
        usual = fleet(max(several) for several in values.values())
        for host, several in values.items():
            yield Observation(host, several, usual, "bytes/s", direction)


def slow_links(passes: Passes) -> Iterator[tuple[Pair, Observation]]:
    """Yield paths with less than OF_ENDS.least of the rate that both ends reach with other hosts, in every pass.

    The rates of the ends are the best that were known when the path was measured.
    """
    shares: dict[Pair, tuple[float, ...]] = {}
    sends: dict[str, float] = {}
    receives: dict[str, float] = {}
    for speeds in passes.passes:
        sends, receives = _larger(sends, _best(speeds, SENDS)), _larger(receives, _best(speeds, RECEIVES))
        for (source, target), rate in speeds.items():
            able = min(sends[source], receives[target])
            shares[source, target] = (*shares.get((source, target), ()), rate / able if able else 0.0)
    best = {ends: max(several) for ends, several in shares.items()}
    usual = fleet(best.values())
    for ends, share in best.items():
        if share < OF_ENDS.least:
            yield ends, Observation(pair(*ends), shares[ends], usual, OF_ENDS.unit, "way")


def _best(speeds: Speeds, direction: str) -> dict[str, float]:
    """Return each host's speed with its best partner in one direction."""
    rates: dict[str, float] = {}
    for ends, rate in speeds.items():
        host = ends[DIRECTIONS[direction]]
        rates[host] = max(rate, rates.get(host, 0.0))
    return rates


def _larger(rates: Mapping[str, float], other_rates: Mapping[str, float]) -> dict[str, float]:
    return {host: max(rates.get(host, 0.0), other_rates.get(host, 0.0)) for host in {**rates, **other_rates}}


def _best_partners(speeds: Speeds) -> dict[str, list[Pair]]:
    """Return each host's two fastest pairs, in either direction."""
    pairs_by_host: dict[str, dict[frozenset[str], Pair]] = {}
    for ends in sorted(speeds, key=lambda ends: -speeds[ends]):
        for host in ends:
            host_pairs = pairs_by_host.setdefault(host, {})
            if len(host_pairs) < REPEATS_WITH:
                host_pairs.setdefault(frozenset(ends), ends)
    return {host: list(host_pairs.values()) for host, host_pairs in pairs_by_host.items()}


def _worse(previous: Verdict, current: Verdict) -> Verdict:
    order = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.OK)
    return min((previous, current), key=lambda verdict: order.index(verdict.status))
