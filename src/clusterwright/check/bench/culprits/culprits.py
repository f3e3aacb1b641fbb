"""Finds what makes a group slow: hosts, a switch's uplink, or the way between two hosts or two switches; pure.

The hosts of each switch are measured by themselves first: what is slow inside one is a host's; where none is,
one host of each switch stands for it. So an uplink is not laid on the hosts behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clusterwright.check.bench.culprits.bisect import Found, Group, Slow, bisect
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold


@dataclass(frozen=True, slots=True)
class Way:
    """The way between two hosts, and the rounds that it took to find."""

    ends: Group
    rounds: int


def across(one: Group, other: Group, slow: Slow) -> Way:
    """The slow way from `one` to `other`: one side is halved while the other is held, one group a round."""
    near, rounds = _narrowed(one, other, slow)
    far, more = _narrowed(other, (near,), slow)
    return Way((near, far), rounds + more)


def _narrowed(group: Group, held: Group, slow: Slow) -> tuple[str, int]:
    """The host of the group that is slow with the held ones, and the rounds it took."""
    rounds = 0
    while len(group) > 1:
        first, rest = group[: len(group) // 2], group[len(group) // 2 :]
        rounds += 1
        group = first if slow(((*first, *held),))[0] else rest
    return group[0], rounds


@dataclass(frozen=True, slots=True)
class Culprit:
    """One part at fault: its kind, and the hosts or switches that it is, or lies between.

    `open` is a group that is slow as a whole, and in which nothing tells one from another.
    """

    kind: Literal["host", "uplink", "way", "switches", "open"]
    names: Group


SAW_AND_MEND = {
    "host": (
        "slow in every group, whose others are well",
        "wright bench network FILE says if it is its port",
    ),
    "uplink": ("its hosts are well together, and slow to every other switch", "look at the switch's uplinks"),
    "way": (
        "each is well with others, and they are slow together",
        "look at routing and hashing between them",
    ),
    "switches": (
        "the hosts of each are well together, and slow to each other",
        "look at what joins the switches",
    ),
    "open": (
        "slow as a whole, and nothing tells one from another",
        "look at what they share, and its settings",
    ),
}


def told(bench: str, part: Culprit, want: Expectation) -> Verdict:
    """The verdict on a part that was found; it failed together with others, and they were well without it."""
    saw, mend = SAW_AND_MEND[part.kind]
    status = Status.WARN if part.kind == "open" else Status.FAIL
    subject = fold(part.names) if part.kind in {"host", "open"} else " - ".join(part.names)
    name = "" if part.kind == "host" else part.kind
    return Verdict(subject, bench, status, saw, f"at least {amount(want.least, want.unit)}", mend, name)


@dataclass(slots=True)
class Counted:
    """`slow`, and how often it was asked."""

    slow: Slow
    rounds: int = 0

    def __call__(self, groups: tuple[Group, ...]) -> tuple[bool, ...]:
        """One round."""
        self.rounds += 1
        return self.slow(groups)


def culprits(hosts: Group, slow: Slow, switches: Mapping[str, str] | None = None) -> tuple[Culprit, ...]:
    """What makes the group of these hosts slow, which it is known to be."""
    leaves = _leaves(hosts, switches or {})
    if len(leaves) < 2:
        return _inside(hosts, slow)
    larger = [leaf for leaf in leaves.values() if len(leaf) > 1]
    answers = dict(zip(larger, slow(tuple(larger)), strict=True)) if larger else {}
    good = tuple(host for leaf, bad in answers.items() if not bad for host in leaf)
    found = [each for leaf, bad in answers.items() if bad for each in _inside(leaf, slow, good)]
    return tuple(found) or _between(leaves, slow) or _inside(hosts, slow)


def _leaves(hosts: Group, switches: Mapping[str, str]) -> dict[str, Group]:
    """The hosts by switch, in the order of the hosts; those without one are together."""
    found: dict[str, Group] = {}
    for host in hosts:
        leaf = switches.get(host, "")
        found[leaf] = (*found.get(leaf, ()), host)
    return found


def _inside(hosts: Group, slow: Slow, good: Group = ()) -> tuple[Culprit, ...]:
    found = bisect(hosts, slow, known=True, good=good)
    ways = (across(*both, slow).ends for both in found.between)
    return (
        *(Culprit("host", (host,)) for host in found.hosts),
        *(Culprit("way", ends) for ends in ways),
        *(Culprit("open", group) for group in found.open),
    )


def _between(leaves: Mapping[str, Group], slow: Slow) -> tuple[Culprit, ...]:
    """One host stands for each switch; nothing when they are well together."""
    name = {leaf[0]: switch for switch, leaf in leaves.items()}
    found: Found = bisect(tuple(name), slow)
    ways = [across(*both, slow).ends for both in found.between]
    ends = [tuple(name[host] for host in way) for way in (*ways, *found.open)]
    return (
        *(Culprit("uplink", (name[host],)) for host in found.hosts),
        *(Culprit("switches", switches) for switches in ends),
    )
