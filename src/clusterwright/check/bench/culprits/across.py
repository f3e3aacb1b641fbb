"""Finds the two hosts between which it is slow, in two groups that are each well; pure."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.bench.culprits.bisect import Group, Slow


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
