"""topology.conf: which hosts hang on which switch."""

from __future__ import annotations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold
from clusterwright.spec.once import once


@once
def topology_conf(cluster: Cluster, header: str) -> str:
    """A line for each leaf switch, and one above them when there are several."""
    leaves: dict[str, list[str]] = {}
    for group in cluster.nodes.values():
        if group.role == "compute" and group.switch:
            leaves.setdefault(group.switch, []).extend(group.names())
    lines = [f"SwitchName={switch} Nodes={fold(hosts)}\n" for switch, hosts in leaves.items()]
    if len(leaves) > 1:
        top = next(name for name in ("spine", "top", "root-switch", "above-all") if name not in leaves)
        lines.append(f"SwitchName={top} Switches={','.join(leaves)}\n")
    return "".join([header, *lines])
