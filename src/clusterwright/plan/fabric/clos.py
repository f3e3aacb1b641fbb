"""Number of leaf, spine and core switches of a folded Clos network, and the links between them.

Rules, checked against the published component tables of DGX SuperPOD (H100, B200, B300):
all uplinks of a leaf are cabled, even if the leaf is not full; every leaf of a pod has the same number of cables to
every spine of the pod, so the number of spines divides the uplinks of a leaf; a spine below cores has at least as many
cables up as down; cores form groups, and a spine has equally many cables to all cores of its group. The pods of a
rail-optimized fabric are its rails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan.numbers import divisors

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Leaves:
    """The lowest level: `rails` groups of `units` leaves; each node has `node_ports` on one leaf of each group."""

    rails: int
    units: int
    node_ports: int
    nodes_per_leaf: int
    uplinks: int  # of one leaf

    @property
    def count(self) -> int:
        """Number of leaf switches of all rails."""
        return self.rails * self.units


_NONE = Leaves(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Clos:
    """One plane of a fabric. All counts are whole numbers; 0 for a level that does not exist."""

    radix: int
    leaves: Leaves
    pods: int = 0  # groups of leaves with separate spines
    spines: int = 0  # of one pod
    leaf_links: int = 0  # cables between a leaf and a spine of its pod
    spine_uplinks: int = 0  # of one spine
    core_groups: int = 0
    cores: int = 0  # of one group
    core_links: int = 0  # cables between a spine and a core of its group
    on_spines: int = 0  # cables of a fabric manager for which no leaf has a free port

    def counts(self) -> Iterator[tuple[str, int, int]]:
        """Yield (level, switches, cables to the level above), leaves first; without the manager's cables to spines."""
        ups = (*self.cables_up(), 0, 0)
        yield "leaf", self.leaves.count, ups[0]
        if self.spines:
            yield "spine", self.pods * self.spines, ups[1]
        if self.cores:
            yield "core", self.core_groups * self.cores, 0

    def cables_up(self) -> tuple[int, ...]:
        """Return the numbers of cables from leaf to spine and from spine to core.

        Without cores only the first number, without spines an empty tuple.
        """
        if not self.spines:
            return ()
        leaf_cables = self.leaves.count * self.leaves.uplinks
        return (leaf_cables, self.pods * self.spines * self.spine_uplinks) if self.cores else (leaf_cables,)

    def pod_of(self, leaf: int) -> int:
        """Return the index of a leaf's pod, 0 without several pods; leaves are numbered rail by rail."""
        per_rail = max(1, self.pods // self.leaves.rails)
        if self.pods <= 1:
            return 0
        rail, unit = divmod(leaf, self.leaves.units)
        return rail * per_rail + unit // math.ceil(self.leaves.units / per_rail)

    def cores_of(self, spine: int) -> range:
        """Return the indices of the cores that a spine is connected to; spines are numbered pod by pod."""
        group = (spine % self.spines) % self.core_groups
        return range(group * self.cores, (group + 1) * self.cores)


def uplinks_for(radix: int, oversubscription: float) -> tuple[int, int]:
    """Split a leaf's ports into (down, up) so that down is at most `oversubscription` times up."""
    up = math.floor(radix / (1 + oversubscription))
    return min(radix - up, math.floor(up * oversubscription + 1e-9)), up


def two_levels(radix: int, leaves: Leaves, on_spines: int = 0) -> Clos | None:
    """Build a leaf-spine network, every leaf connected to every spine; None if a spine has too few ports.

    `on_spines`: ports of the spines that are reserved for other cables, such as the manager's.
    """
    if leaves.count > radix:
        return None
    need = math.ceil((leaves.count * leaves.uplinks + on_spines) / radix)
    spines = next((count for count in divisors(leaves.uplinks) if count >= need), 0)
    if not spines:
        return None
    return Clos(radix, leaves, 1, spines, leaves.uplinks // spines, on_spines=on_spines)


def three_levels(radix: int, leaves: Leaves, on_spines: int = 0) -> Clos | None:
    """Build a three-level network, pods of leaves and spines connected by cores; None if the radix is too small.

    A rail takes as few pods as possible; without rails, the number of pods is that with the fewest switches.
    """
    fewest = math.ceil(leaves.units / (radix // 2))
    pod_counts = [fewest] if leaves.rails > 1 else range(fewest, min(radix, leaves.units) + 1)
    candidates = sorted(candidate for pods in pod_counts for candidate in _pods(radix, leaves, pods))
    best: Clos | None = None
    for least, pods, spines, down in candidates:
        if best and least >= _above(best):
            break
        cores = _cores(radix, pods, spines, range(down, radix // 2 + 1))
        if cores and pods * spines * (radix - down - cores.spine_uplinks) < on_spines:
            continue
        if cores and (best is None or _above(cores) < _above(best)):
            best = replace(cores, leaves=leaves, leaf_links=leaves.uplinks // spines, on_spines=on_spines)
    return best


def _above(clos: Clos) -> int:
    """Return the number of switches above the leaves of one plane: spines of all pods, and cores."""
    return clos.pods * clos.spines + clos.core_groups * clos.cores


def _pods(radix: int, leaves: Leaves, pods_per_rail: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (lower bound of switches above the leaves, pods, spines per pod, cables down per spine)."""
    pods, pod_leaves = leaves.rails * pods_per_rail, math.ceil(leaves.units / pods_per_rail)
    for spines in divisors(leaves.uplinks):
        down = pod_leaves * leaves.uplinks // spines
        if down <= radix // 2:
            yield pods * spines + math.ceil(pods * spines * down / radix), pods, spines, down


def _cores(radix: int, pods: int, spines: int, uplinks: range) -> Clos | None:
    """Return spines and cores with the fewest cores, or None if no number of `uplinks` per spine fits the radix.

    Spines get a few more uplinks if that saves cores.
    """
    fitting = [
        (groups * up // links, up, groups, links)
        for up in uplinks
        for groups in divisors(spines)
        for links in divisors(up)
        if pods * (spines // groups) * links <= radix
    ]
    if not fitting:
        return None
    _, up, groups, links = min(fitting)
    return Clos(radix, _NONE, pods, spines, 0, up, groups, up // links, links)
