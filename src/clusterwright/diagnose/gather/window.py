"""When a job ran, and on which hosts; and which lines of others' logs fall into that time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.config.names import expand
from clusterwright.diagnose.reading.times import moment
from clusterwright.slurm.records import Record, stamp

MARGIN_S = 15  # what follows from an end is logged within seconds; later lines are of what came next
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds since the epoch; `zone_s` is what the control host's own clock shows beyond that."""

    begin: int
    end: int
    zone_s: int
    hosts: tuple[str, ...]

    def holds(self, seconds: float) -> bool:
        """Whether the moment lies in it, as an epoch's or as a local time's."""
        return any(self.begin - 1 <= each <= self.end for each in (seconds, seconds - self.zone_s))

    def holds_line(self, line: str) -> bool:
        """Whether a log's line does; one without a time does."""
        said = moment(line, 0)
        return said is None or self.holds(said.seconds)

    def holds_reason(self, reason: str) -> bool:
        """Whether a node's reason, which ends in `[user@time]`, was written in it."""
        when = stamp(reason.rpartition("@")[2].rstrip("]"))
        return when is not None and self.holds(when)


def window(asked: Mapping[str, str]) -> Window:
    """From accounting and from slurmctld, of all attempts together; until now where it has not ended."""
    now, local = [*asked.get("now", "0 ").split(), "", ""][:2]
    at = int(now or 0)
    rows = [line.split("|") for line in asked.get("window", "").splitlines()]
    record = Record.parse(asked.get("times", "").partition("\n")[0])
    rows += [[record["StartTime"], record["EndTime"], record["NodeList"]]]
    rows = [row for row in rows if len(row) >= _COLUMNS]
    begins = [int(row[0]) for row in rows if row[0].isdigit()]
    ends = [int(row[1]) for row in rows if row[1].isdigit() and int(row[1]) <= at]
    lists = [row[2] for row in rows if row[2] and "assigned" not in row[2]]
    hosts = tuple(dict.fromkeys(host for one in lists for host in expand(one)))
    zone_s = (stamp(local) or at) - at
    return Window(min(begins, default=at), (max(ends) if ends else at) + MARGIN_S, zone_s, hosts)
