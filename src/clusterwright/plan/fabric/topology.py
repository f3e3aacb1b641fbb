"""What Slurm is to know of a fabric: topology.conf, and the `switch:` of each node group in cluster.yaml.

Slurm's tree knows one parent per switch, so all spines of a pod are one line, and the leaves of one unit of
a rail-optimised fabric, on which the same hosts hang, are one too.
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
    """The switch that each group of hosts hangs on, in order: leaf1, leaf2, or su1, su2 on rails.

    Without switches, or with one, all hosts are on one.
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
    """topology.conf for topology/tree: a line for each group of hosts, and the switches above them.

    The pods of rails hold the same hosts, so three levels on rails are two lines deep; pods of a fat tree
    are a level of their own.
    """
    groups = placement(fabric, hosts)
    lines = [f"SwitchName={switch} Nodes={fold(members)}" for switch, members in groups.items()]
    above = levels(list(groups), pods(fabric))
    lines += [f"SwitchName={switch} Switches={','.join(members)}" for switch, members in above.items()]
    return "".join(f"{line}\n" for line in lines)


def levels(leaves: Sequence[str], pods: int) -> dict[str, tuple[str, ...]]:
    """The switches above so many leaves, bottom up, and what is under each; no name of a leaf is taken.

    More than one pod is a level of its own, with the core above.
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
    """The first name that is not taken; the last one with as many strokes as it needs."""
    free = next((name for name in names if name not in used_names), f"{names[-1]}-")
    while free in used_names:
        free += "-"
    return free


def block_lines(hosts: Sequence[str], domain_nodes: int) -> str:
    """topology.conf for topology/block, where NVLink joins so many nodes (18 trays of an NVL72 rack).

    A block is a rack, so that Slurm keeps what talks over NVLink within it. Needs Slurm 23.11 or later.
    """
    lines = [
        f"BlockName=rack{start // domain_nodes + 1} Nodes={fold(list(hosts[start : start + domain_nodes]))}"
        for start in range(0, len(hosts), domain_nodes)
    ]
    sizes = [domain_nodes * 2**power for power in range(int(math.log2(max(1, len(lines)))) + 1)]
    lines.append(f"BlockSizes={','.join(map(str, sizes))}")
    return "".join(f"{line}\n" for line in lines)


def cluster_lines(fabric: Fabric, hosts: Sequence[str]) -> str:
    """The lines of cluster.yaml that say where the hosts hang; each group keeps its other fields."""
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
    """How many pods lie under the core; 0 without one. The pods of rails hold the same hosts, and are one."""
    if fabric.clos is None or not fabric.clos.cores:
        return 0
    return fabric.clos.pods // fabric.clos.leaves.rails
