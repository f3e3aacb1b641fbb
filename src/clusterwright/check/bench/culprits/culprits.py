"""Find what makes a group slow: hosts, a switch's uplink, or the path between two hosts or two switches; pure.

The hosts of each switch are measured on their own first: a slow result there is a host's fault. Where there is none,
one host of each switch represents it. So an uplink's fault is not attributed to the hosts behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.bisect import Bisection, Group, Slow, bisect
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold
from clusterwright.i18n import N_, _


@dataclass(frozen=True, slots=True)
class SlowLink:
    """The slow path between two hosts, and the number of rounds it took to find."""

    ends: Group
    rounds: int


def find_slow_link(source: Group, target: Group, slow: Slow) -> SlowLink:
    """Find the slow path from `source` to `target`: halve one side while the other is fixed, one group a round."""
    source_host, rounds = _narrowed(source, target, slow)
    target_host, more = _narrowed(target, (source_host,), slow)
    return SlowLink((source_host, target_host), rounds + more)


def _narrowed(group: Group, peers: Group, slow: Slow) -> tuple[str, int]:
    """Return the host of the group that is slow with the fixed peers, and the number of rounds."""
    rounds = 0
    while len(group) > 1:
        head, tail = group[: len(group) // 2], group[len(group) // 2 :]
        rounds += 1
        group = head if slow(((*head, *peers),))[0] else tail
    return group[0], rounds


@dataclass(frozen=True, slots=True)
class Culprit:
    """One part at fault: its kind, and the hosts or switches that it is, or lies between.

    `open` is a group that is slow as a whole, and in which no measurement separates the hosts.
    """

    kind: Literal["host", "uplink", "way", "switches", "open"]
    names: Group


OBSERVED_AND_FIX = {
    "host": (
        N_("this host is slow in every group of hosts; the other hosts of these groups are normal"),
        N_("run `wright bench network` to test its port"),
    ),
    "uplink": (
        N_("the hosts of this switch are fast among each other and slow to every other switch"),
        N_("check the switch's uplinks"),
    ),
    "way": (
        N_("each host is fast with other hosts; together these hosts are slow"),
        N_("check routing and flow hashing between these hosts"),
    ),
    "switches": (
        N_("hosts of each switch are fast among each other and slow to the other switch"),
        N_("check the links between the switches"),
    ),
    "open": (
        N_("this group of hosts is slow as a whole; no host or link of it stands out"),
        N_("check what these hosts share (a switch, a cable, a server) and its settings"),
    ),
}


def culprit_verdict(part: Culprit, expectation: Expectation) -> Verdict:
    """Return the verdict on a part at fault: fail, but warn for an `open` group."""
    observed, fix = OBSERVED_AND_FIX[part.kind]
    status = Status.WARN if part.kind == "open" else Status.FAIL
    subject = fold(part.names) if part.kind in {"host", "open"} else " - ".join(part.names)
    name = "" if part.kind == "host" else part.kind
    return Verdict(
        subject,
        "collectives",
        status,
        observed,
        _("at least {amount}", amount=amount(expectation.least, expectation.unit)),
        fix,
        name,
    )


@dataclass(slots=True)
class Counted:
    """A `slow` function that counts its rounds."""

    slow: Slow
    rounds: int = 0

    def __call__(self, groups: tuple[Group, ...]) -> tuple[bool, ...]:
        """Measure one round of groups and count it; return whether each group was slow."""
        self.rounds += 1
        return self.slow(groups)


def culprits(hosts: Group, slow: Slow, switches: Mapping[str, str] | None = None) -> tuple[Culprit, ...]:
    """Find what makes the group of these hosts slow; the group is known to be slow.

    `slow` measures groups and says which are slow; `switches`: the leaf switch of each host, if known.
    """
    hosts_by_leaf = _hosts_by_leaf(hosts, switches or {})
    if len(hosts_by_leaf) < 2:
        return _inside(hosts, slow)
    larger = [leaf for leaf in hosts_by_leaf.values() if len(leaf) > 1]
    answers = dict(zip(larger, slow(tuple(larger)), strict=True)) if larger else {}
    healthy_hosts = tuple(host for leaf, bad in answers.items() if not bad for host in leaf)
    parts = [part for leaf, bad in answers.items() if bad for part in _inside(leaf, slow, healthy_hosts)]
    return tuple(parts) or _compare_switches(hosts_by_leaf, slow) or _inside(hosts, slow)


def _hosts_by_leaf(hosts: Group, switches: Mapping[str, str]) -> dict[str, Group]:
    """Group the hosts by switch, in the order of the hosts; hosts without a switch form one group."""
    groups: dict[str, Group] = {}
    for host in hosts:
        leaf = switches.get(host, "")
        groups[leaf] = (*groups.get(leaf, ()), host)
    return groups


def _inside(hosts: Group, slow: Slow, healthy_hosts: Group = ()) -> tuple[Culprit, ...]:
    bisection = bisect(hosts, slow, is_slow=True, healthy_hosts=healthy_hosts)
    links = (find_slow_link(*pair, slow).ends for pair in bisection.slow_pairs)
    return (
        *(Culprit("host", (host,)) for host in bisection.hosts),
        *(Culprit("way", ends) for ends in links),
        *(Culprit("open", group) for group in bisection.open),
    )


def _compare_switches(hosts_by_leaf: Mapping[str, Group], slow: Slow) -> tuple[Culprit, ...]:
    """Measure a group of one host per leaf switch, by bisection; return the slow uplinks and pairs of switches.

    Empty if all are fast together.
    """
    name = {leaf[0]: switch for switch, leaf in hosts_by_leaf.items()}
    bisection: Bisection = bisect(tuple(name), slow)
    links = [find_slow_link(*pair, slow).ends for pair in bisection.slow_pairs]
    ends = [tuple(name[host] for host in link) for link in (*links, *bisection.open)]
    return (
        *(Culprit("uplink", (name[host],)) for host in bisection.hosts),
        *(Culprit("switches", switches) for switches in ends),
    )
