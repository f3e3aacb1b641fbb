"""Slurm's view of a fabric: topology.conf, and `switch:` of each node group in cluster.yaml.

Slurm's tree has one parent per switch, so all spines of a pod are one line, and so are the leaves of one unit of
a rail-optimized fabric, which connect the same hosts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterwright.config.names import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.plan.fabric.parts import Fabric

TOP = "spine"  # the line above the leaves


def placement(fabric: Fabric, hosts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Assign hosts to leaf switches, in order: hosts by leaf1, leaf2, or by su1, su2 with rails.

    Without switches, or with a single one, all hosts are on leaf1.
    """
    if fabric.clos is None or fabric.tiers < 2:
        return {"leaf1": tuple(hosts)}
    group_size = fabric.clos.leaves.nodes_per_leaf
    name = "su" if fabric.clos.leaves.rails * fabric.rails > 1 else "leaf"
    return {
        f"{name}{start // group_size + 1}": tuple(hosts[start : start + group_size])
        for start in range(0, len(hosts), group_size)
    }


def topology_lines(fabric: Fabric, hosts: Sequence[str]) -> str:
    """Return the text of topology.conf for topology/tree: a line for each leaf with its hosts, then switches above.

    Pods of rails connect the same hosts, so three levels with rails become two; pods of a fat tree
    are a level of their own.
    """
    groups = placement(fabric, hosts)
    lines = [f"SwitchName={switch} Nodes={fold(members)}" for switch, members in groups.items()]
    above = levels(list(groups), pods(fabric))
    lines += [f"SwitchName={switch} Switches={','.join(members)}" for switch, members in above.items()]
    return "".join(f"{line}\n" for line in lines)


def levels(leaves: Sequence[str], pods: int) -> dict[str, tuple[str, ...]]:
    """Return the switches above the leaves, bottom up, with the names below each; names differ from the leaves'.

    More than one pod adds a level, with the core above. Empty for fewer than two leaves.
    """
    if len(leaves) < 2:
        return {}
    if pods < 2:
        return {_free((TOP, "top", "root-switch", "above-all"), leaves): tuple(leaves)}
    group_size = math.ceil(len(leaves) / pods)
    starts = range(0, len(leaves), group_size)
    pods_by_name = {
        _free((f"pod{start // group_size + 1}",), leaves): tuple(leaves[start : start + group_size])
        for start in starts
    }
    return pods_by_name | {_free(("core",), leaves): tuple(pods_by_name)}


def _free(names: Sequence[str], used_names: Sequence[str]) -> str:
    """Return the first unused name; if all are used, the last one with dashes appended."""
    free = next((name for name in names if name not in used_names), f"{names[-1]}-")
    while free in used_names:
        free += "-"
    return free


def block_lines(hosts: Sequence[str], domain_nodes: int) -> str:
    """Return the text of topology.conf for topology/block: a block for each `domain_nodes` hosts, connected by NVLink.

    A block is a rack (18 trays of an NVL72), so that Slurm places NVLink traffic within it. Needs Slurm 23.11 or later.
    """
    lines = [
        f"BlockName=rack{start // domain_nodes + 1} Nodes={fold(list(hosts[start : start + domain_nodes]))}"
        for start in range(0, len(hosts), domain_nodes)
    ]
    sizes = [domain_nodes * 2**power for power in range(int(math.log2(max(1, len(lines)))) + 1)]
    lines.append(f"BlockSizes={','.join(map(str, sizes))}")
    return "".join(f"{line}\n" for line in lines)


def cluster_lines(fabric: Fabric, hosts: Sequence[str]) -> str:
    """Return the text of the section `nodes:` of cluster.yaml: a group for each leaf, with role, hosts and switch."""
    lines = ["nodes:"]
    for switch, members in placement(fabric, hosts).items():
        lines += [
            f"  gpu-{switch}:",
            "    role: compute",
            f'    hosts: "{fold(members)}"',
            f"    switch: {switch}",
        ]
    return "".join(f"{line}\n" for line in lines)


def pods(fabric: Fabric) -> int:
    """Return the number of pods below the core, 0 without one; pods of rails connect the same hosts and count once."""
    if fabric.clos is None or not fabric.clos.cores:
        return 0
    return fabric.clos.pods // fabric.clos.leaves.rails
