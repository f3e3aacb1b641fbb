"""slurmctld's settings, parsed from the output of `scontrol show config`, and partitions."""

from typing import List, NamedTuple, Optional, Tuple

from clusterwright.slurm.records import Record, parse_records, seconds, split_lines


def parse_settings(text: str) -> Record:
    """Return the settings by name; indices stay in names, as in `SlurmctldHost[0]`.

    Lines without ` = ` (headings, states of slurmctld) are skipped.
    """
    pairs = (line.partition("=") for line in split_lines(text) if "=" in line)
    return Record({name.strip(): value.strip() for name, _, value in pairs if " " not in name.strip()})


class Partition(NamedTuple):
    """A partition's record in slurmctld."""

    name: str
    record: Record

    @property
    def is_default(self) -> bool:
        """Whether jobs that name no partition go to this one."""
        return self.record["Default"] == "YES"

    @property
    def is_up(self) -> bool:
        """Whether the partition accepts and starts jobs of users."""
        return self.record["State"] == "UP" and self.record["RootOnly"] != "YES"

    @property
    def max_time_s(self) -> Optional[int]:
        """The longest time limit of a job in seconds; None for no limit."""
        return seconds(self.record["MaxTime"])

    @property
    def max_nodes(self) -> Optional[int]:
        """The most nodes of a job; None for no limit."""
        return self.record.number("MaxNodes") or None


def parse_partitions(text: str) -> Tuple[Partition, ...]:
    """Return the partitions of `scontrol show partition -o`, in its order."""
    records: List[Record] = parse_records(text, "PartitionName")
    return tuple(Partition(record["PartitionName"], record) for record in records if record["PartitionName"])
