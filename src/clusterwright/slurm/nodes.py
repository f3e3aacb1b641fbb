"""Nodes, out of what scontrol and sinfo print of them, of releases 21.08 to 26.05."""

import re
from typing import Dict, NamedTuple, Tuple

from clusterwright.slurm.records import Record, count_gpus, gpu_type, parse_fields
from clusterwright.slurm.states import NodeState, parse_node_state

# Free text of people comes last in a record, in this order; nothing is read from behind its beginning.
_FREE_TEXT = ("InstanceId", "Extra", "Comment", "Reason")
_REASON_TAIL = re.compile(r"( \[[\w.$-]+@\S+\])\s+[A-Z]\w*=.*")


class Node(NamedTuple):
    """One node as slurmctld has it."""

    name: str
    state: NodeState
    record: Record

    @property
    def reason(self) -> str:
        """Why it is out of service; scontrol adds ` [user@time]`."""
        return self.record["Reason"]

    @property
    def comment(self) -> str:
        """What somebody noted."""
        return self.record["Comment"]

    @property
    def partitions(self) -> Tuple[str, ...]:
        """Partitions that it is in."""
        return self.record.split("Partitions")

    @property
    def cpus(self) -> int:
        """Processors, specialized cores included."""
        return self.record.number("CPUTot")

    @property
    def cpus_allocated(self) -> int:
        """Processors that jobs hold."""
        return self.record.number("CPUAlloc")

    @property
    def memory_mib(self) -> int:
        """Memory that slurm.conf declares."""
        return self.record.number("RealMemory")

    @property
    def gpus(self) -> int:
        """GPUs of all types."""
        return count_gpus(self.record["Gres"], self.record["CfgTRES"])

    @property
    def gpus_allocated(self) -> int:
        """GPUs that jobs hold."""
        return count_gpus(self.record["GresUsed"], self.record["AllocTRES"])

    @property
    def gpu_model(self) -> str:
        """The type of its first GPUs."""
        return gpu_type(self.record["Gres"])


def parse_node(line: str) -> Node:
    """One line of `scontrol show node -o`."""
    remainder, texts = line.strip("\n"), {}
    for name in _FREE_TEXT:
        remainder, _, texts[name] = remainder.partition(f" {name}=")
    texts["Reason"] = _REASON_TAIL.sub(r"\1", texts["Reason"])
    fields = dict(parse_fields(remainder), **{name: text for name, text in texts.items() if text})
    return Node(
        fields.get("NodeName", ""), parse_node_state(fields.get("State", "")), Record(fields, line.strip())
    )


def parse_nodes(text: str) -> Dict[str, Node]:
    """Nodes by name, out of `scontrol show node -o`; a line of another form is no node."""
    nodes = [parse_node(line) for line in text.splitlines() if line.startswith("NodeName=")]
    return {node.name: node for node in nodes if node.name and node.record["State"]}


def parse_sinfo(text: str) -> Dict[str, Node]:
    """Nodes by name, out of `sinfo --Node` with the columns of client.node_states; the reason may hold anything."""
    rows = [line.strip().split("|", 2) for line in text.splitlines() if "|" in line]
    return {
        row[0]: Node(
            row[0], parse_node_state(row[1]), Record(dict(zip(("NodeName", "State", "Reason"), row)))
        )
        for row in rows
    }
