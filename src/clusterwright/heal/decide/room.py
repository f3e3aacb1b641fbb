"""How many more hosts may be taken out, whoever took the others out; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright.heal.seen import HostStatus

FEW = 2  # hosts with one fault at one time are chance; more may have one cause elsewhere


@dataclass(frozen=True, slots=True)
class Room:
    """Hosts by partition, and those of them that are out; spares that wait are neither."""

    members: Mapping[str, frozenset[str]]
    out: frozenset[str]
    percent: int

    @classmethod
    def of(cls, nodes: Iterable[HostStatus], percent: int) -> Room:
        """As Slurm has them."""
        members: dict[str, set[str]] = {}
        taking = [node for node in nodes if node.holder != "spare"]
        for node in taking:
            for partition in node.partitions:
                members.setdefault(partition, set()).add(node.name)
        out = frozenset(node.name for node in taking if node.out)
        return cls({name: frozenset(each) for name, each in members.items()}, out, percent)

    def most(self, partition: str) -> int:
        """One may be out in any case: else the share of a small partition would be none."""
        return max(1, len(self.members[partition]) * self.percent // 100)

    def has(self, host: str) -> bool:
        """True when the host may be out beside those that are."""
        return all(
            len((self.out & members) - {host}) + 1 <= self.most(partition)
            for partition, members in self.members.items()
            if host in members
        )

    def without(self, host: str) -> Room:
        """With that host out as well."""
        return Room(self.members, self.out | {host}, self.percent)

    def is_common(self, hosts: frozenset[str]) -> bool:
        """True when so many hosts of a partition have the same fault that its cause is probably elsewhere."""
        return any(
            len(members & hosts) > max(FEW, self.most(partition))
            for partition, members in self.members.items()
        )
