"""Nodes, parsed from the output of scontrol and sinfo, releases 21.08 to 26.05."""

import re
from typing import Dict, NamedTuple, Tuple

from clusterwright.slurm.records import Record, count_gpus, gpu_type, parse_fields, split_lines
from clusterwright.slurm.states import NodeState, is_complete_state, is_node_state, parse_node_state

# Free-text fields, in this order at the end of a record; what follows the first of them is text, not further fields.
_FREE_TEXT = ("InstanceId", "Extra", "Comment", "Reason")
# Fields of releases since 23.02 that follow the texts.
_LATER_FIELDS = re.compile(
    r"(?:(?<!\s)\s+(?:InstanceType|ReservationName|TLSCertTokenSet|TLSCertLastRenewal|Topology|Parameters)=\S*)+\s*$"
)
_REASON_TAIL = re.compile(r"( \[[\w.$-]+@\S+\])\s+[A-Z]\w*=.*")


class Node(NamedTuple):
    """One node's record in slurmctld."""

    name: str
    state: NodeState
    record: Record

    @property
    def reason(self) -> str:
        """The drain or down reason; scontrol appends ` [user@time]`."""
        return self.record["Reason"]

    @property
    def comment(self) -> str:
        """The node's Comment, which administrators and programs set."""
        return self.record["Comment"]

    @property
    def partitions(self) -> Tuple[str, ...]:
        """The partitions of the node."""
        return self.record.split("Partitions")

    @property
    def cpus(self) -> int:
        """Number of CPUs of the node (CPUTot), specialized cores included."""
        return self.record.number("CPUTot")

    @property
    def cpus_allocatable(self) -> int:
        """Number of CPUs that jobs may allocate: CPUEfctv, which releases before 22.05 do not print, or CPUTot."""
        return self.record.number("CPUEfctv") or self.cpus

    @property
    def cpus_allocated(self) -> int:
        """Number of CPUs of the node that are allocated to jobs."""
        return self.record.number("CPUAlloc")

    @property
    def memory_mib(self) -> int:
        """Memory that slurm.conf declares, in MiB."""
        return self.record.number("RealMemory")

    @property
    def gpus(self) -> int:
        """Number of GPUs of the node, of all types."""
        return count_gpus(self.record["Gres"], self.record["CfgTRES"])

    @property
    def gpus_allocated(self) -> int:
        """Number of GPUs of the node that are allocated to jobs."""
        return count_gpus(self.record["GresUsed"], self.record["AllocTRES"])

    @property
    def gpu_model(self) -> str:
        """The GRES type of the node's GPUs, the first of several; "" without a type."""
        return gpu_type(self.record["Gres"])


def parse_node(line: str) -> Node:
    """Parse one node's line of `scontrol show node -o`, whose free texts may contain `NAME=`."""
    remainder, texts = line.strip("\n"), {}
    for name in _FREE_TEXT:
        remainder, _, text = remainder.partition(f" {name}=")
        texts[name] = _LATER_FIELDS.sub("", text)
    texts["Reason"] = _REASON_TAIL.sub(r"\1", texts["Reason"])
    fields = dict(parse_fields(remainder), **{name: text for name, text in texts.items() if text})
    return Node(
        fields.get("NodeName", ""), parse_node_state(fields.get("State", "")), Record(fields, line.strip())
    )


def parse_nodes(text: str) -> Dict[str, Node]:
    """Return the nodes of `scontrol show node -o` by name; lines without a valid name and state are skipped."""
    nodes = [parse_node(line) for line in split_lines(text) if line.startswith("NodeName=")]
    return {node.name: node for node in nodes if node.name and is_node_state(node.record["State"])}


def parse_undamaged_nodes(text: str) -> Dict[str, Node]:
    """Return the nodes of `parse_nodes`, before an action that cannot be undone.

    Nodes whose state no supported scontrol prints are left out.
    """
    nodes = parse_nodes(text)
    return {name: node for name, node in nodes.items() if is_complete_state(node.record["State"])}


def parse_sinfo(text: str) -> Dict[str, Node]:
    """Return the nodes of `sinfo --Node`, columns of client.node_states, by name; a reason may contain `|`.

    Lines without a valid state are skipped.
    """
    rows = [line.strip().split("|", 2) for line in split_lines(text) if "|" in line]
    return {
        row[0]: Node(
            row[0], parse_node_state(row[1]), Record(dict(zip(("NodeName", "State", "Reason"), row)))
        )
        for row in rows
        if is_node_state(row[1])
    }
