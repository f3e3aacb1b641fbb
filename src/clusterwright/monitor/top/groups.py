"""Nodes grouped by node group and state, faulty ones first; pure."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from clusterwright.config.names import fold
from clusterwright.monitor.snapshot import NodeView, Snapshot

_ORDER = (
    "down", "not_responding", "unknown", "maint", "rebooting", "powering_up", "mixed", "allocated", "completing",
    "planned", "reserved", "idle", "powered_down",
)  # fmt: skip
MOST_FOLDED = 512  # names in one hostlist; folding more names with several numbers in each takes seconds


@dataclass(frozen=True, slots=True)
class HostGroup:
    """The nodes of one node group that have the same state."""

    name: str
    state: str
    drained: bool
    nodes: tuple[NodeView, ...]

    @property
    def key(self) -> str:
        """A text that identifies the group across snapshots: node group, state, and whether it is drained."""
        return f"group {self.name} {self.state} {self.drained}"

    @property
    def hosts(self) -> str:
        """The names of the group's nodes as a hostlist, of more than MOST_FOLDED nodes the first ones and `,...`."""
        folded = fold([node.name for node in self.nodes[:MOST_FOLDED]])
        return folded if len(self.nodes) <= MOST_FOLDED else f"{folded},..."

    @property
    def gpus(self) -> tuple[int, int]:
        """Numbers of allocated GPUs and of all GPUs of the group's nodes."""
        return sum(node.gpus_used for node in self.nodes), sum(node.gpus_total for node in self.nodes)

    def uses(self, width: int) -> list[tuple[float | None, bool]]:
        """Return (mean GPU utilization, whether any GPU is allocated) of at most `width` runs of consecutive nodes.

        The utilization is None where it is not known.
        """
        node_count = len(self.nodes)
        places = min(width, node_count)
        parts = [
            self.nodes[index * node_count // places : (index + 1) * node_count // places]
            for index in range(places)
        ]
        return [(mean_use(part), any(node.gpus_used for node in part)) for part in parts]


def mean_use(nodes: Iterable[NodeView]) -> float | None:
    """Return the mean utilization, 0 to 1, of the allocated GPUs; of all GPUs if none is known to be allocated.

    None without a measurement.
    """
    uses = [
        (gpu.utilisation, bool(gpu.job)) for node in nodes for gpu in node.gpus if gpu.utilisation is not None
    ]
    values = [use for use, is_allocated in uses if is_allocated] or [use for use, _ in uses]
    return sum(values) / len(values) if values else None


def groups(nodes: Iterable[NodeView]) -> list[HostGroup]:
    """Group nodes by node group and state; groups that are down or drained come first."""
    nodes_by_key: dict[tuple[str, str, bool], list[NodeView]] = {}
    for node in nodes:
        nodes_by_key.setdefault((node.group, node.state, node.drained), []).append(node)
    every = [
        HostGroup(name, state, drained, tuple(members))
        for (name, state, drained), members in nodes_by_key.items()
    ]
    return sorted(every, key=lambda group: (_rank(group), group.name))


def rows(snapshot: Snapshot, opened: Container[str]) -> list[HostGroup | NodeView]:
    """Return the rows of the table of nodes: each group, and after it its nodes if its key is in `opened`."""
    items: list[HostGroup | NodeView] = []
    for group in groups(snapshot.nodes):
        items.append(group)
        if group.key in opened:
            items += group.nodes
    return items


def _rank(group: HostGroup) -> tuple[int, int]:
    rank = _ORDER.index(group.state) if group.state in _ORDER else len(_ORDER)
    bad = 0 if group.state in ("down", "not_responding") else 1 if group.drained else 2
    return bad, rank
