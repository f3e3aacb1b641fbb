"""What differs between two cluster files, field by field, and what each difference does to a running cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.field import Cost
from clusterwright.config.fields import Field, fields, matching, written
from clusterwright.config.load import cluster_of
from clusterwright.config.slurm_keys import release
from clusterwright.config.source import Loc, Source, dotted

RANK = {cost: rank for rank, cost in enumerate(Cost)}

WORDS = {
    Cost.LIVE: "running jobs do not notice",
    Cost.RECONFIGURE: "Slurm reads its files again; running jobs do not notice",
    Cost.RESTART: "a daemon starts anew; running jobs go on",
    Cost.DRAIN: "the hosts have to be empty: `wright apply --drain` waits until their jobs have ended",
    Cost.REBOOT: "the hosts have to be empty, and are booted anew before it holds",
    Cost.REBUILD: "hosts or the cluster are made anew; jobs and what is kept there do not survive",
}
# A named thing that is new or gone is not a change of its fields: a new user costs nobody anything, though
# another id of an old one would be a rebuild. Slurm ends the jobs of a partition that its file no longer has.
NEW = {"partitions": Cost.RECONFIGURE}
GONE = {"nodes": Cost.DRAIN, "partitions": Cost.DRAIN, "storage": Cost.DRAIN}
NAMED = ("nodes", "storage", "partitions", "qos", "reservations", "teams", "users")
RESTARTS_TO_GROW = "23.11"  # before this release the daemons learn of new hosts only by a restart


@dataclass(frozen=True, slots=True)
class Said:
    """A cluster file: its text with places, what it means, and that as plain values."""

    source: Source
    cluster: Cluster
    plain: Mapping[str, Any]

    @classmethod
    def of(cls, source: Source) -> Said:
        """What the file says.

        Raises:
            SpecError: everything that is wrong with it.
        """
        cluster = cluster_of(source)
        return cls(source, cluster, cluster.model_dump(mode="json"))

    def has(self, loc: Loc) -> bool:
        """True when there is such a thing, given or by default."""
        values: Any = self.plain
        for part in loc:
            if not isinstance(values, Mapping) or part not in values:
                return False
            values = values[part]
        return values is not None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs; `old` or `new` is empty where the file does not have the thing."""

    path: str
    old: str
    new: str
    cost: Cost
    why: str


def between(old: Said, new: Said) -> tuple[FieldChange, ...]:
    """Every field whose meaning differs, in the order of the fields; what is only written otherwise is none."""
    known = fields("cluster")
    return tuple(_change(old, new, loc, known) for loc in _differing(old.plain, new.plain, ()))


def dearest(costs: Iterator[Cost] | tuple[Cost, ...]) -> Cost:
    """The one that disturbs most; live for none."""
    return max(costs, key=RANK.__getitem__, default=Cost.LIVE)


def _differing(old: Any, new: Any, loc: Loc) -> Iterator[Loc]:
    """Paths of what differs; a section or a named thing that one side lacks is one difference."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            here = (*loc, key)
            if key not in old or key not in new:
                yield here
            else:
                yield from _differing(old[key], new[key], here)
    elif old != new:
        yield loc


def _change(old: Said, new: Said, loc: Loc, known: tuple[Field, ...]) -> FieldChange:
    field = _field(loc, known, new if new.has(loc) else old)
    cost = _cost(old, new, loc, field)
    return FieldChange(dotted(loc), _shown(old, loc, field), _shown(new, loc, field), cost, WORDS[cost])


def _field(loc: Loc, known: tuple[Field, ...], said: Said) -> Field | None:
    """The row of documentation; of variants the one that the file's own `kind` means. None for a named thing."""
    found = matching(".".join(map(str, loc)), known) if not _is_named(loc) else ()
    if not found and len(loc) > 2:
        return _field(loc[:-1], known, said)
    above: Any = said.source.values
    for part in loc[:-1]:
        above = above.get(part, {}) if isinstance(above, dict) else {}
    kind = above.get("kind") if isinstance(above, dict) else None
    return next((field for field in found if field.variant in ("", kind)), None)


def _is_named(loc: Loc) -> bool:
    return len(loc) == 2 and loc[0] in NAMED


def _shown(said: Said, loc: Loc, field: Field | None) -> str:
    """The value as the file has it; the default where it is left out, and nothing where the thing is not."""
    values: Any = said.source.values
    for part in loc:
        if not isinstance(values, dict) or part not in values:
            return _default(said, loc, field)
        values = values[part]
    return "a section" if isinstance(values, dict) else written(values)


def _default(said: Said, loc: Loc, field: Field | None) -> str:
    if field is None or not said.has(loc[:-1]):
        return ""
    return "left out" if field.default == "left out" else f"{field.default} (default)"


def _cost(old: Said, new: Said, loc: Loc, field: Field | None) -> Cost:
    if _is_named(loc):
        if loc[1] not in getattr(old.cluster, str(loc[0])):
            return _growing(new.cluster) if loc[0] == "nodes" else NEW.get(str(loc[0]), Cost.LIVE)
        return GONE.get(str(loc[0]), Cost.LIVE)
    if loc[0] == "nodes" and loc[-1] in ("hosts", "absent") and _only_grows(old, new, str(loc[1])):
        return _growing(new.cluster)
    return Cost(field.cost) if field else Cost.REBUILD


def _only_grows(old: Said, new: Said, group: str) -> bool:
    """No host of the group is lost, and none moves to another address."""
    before, after = old.cluster.nodes[group], new.cluster.nodes[group]
    return set(before.places()) <= set(after.places())


def _growing(cluster: Cluster) -> Cost:
    """What new hosts cost the others: from 23.11 on the daemons take them by reading their files again."""
    new_enough = release(cluster.software.slurm) >= RESTARTS_TO_GROW
    return Cost.RECONFIGURE if new_enough else Cost.RESTART


def gone_hosts(old: Cluster, new: Cluster) -> tuple[str, ...]:
    """Hosts that the old file has and the new one has not."""
    kept = {host.name for host in new.hosts()}
    return tuple(host.name for host in old.hosts() if host.name not in kept)


def new_hosts(old: Cluster, new: Cluster) -> tuple[str, ...]:
    """Hosts that the new file has and the old one has not."""
    return gone_hosts(new, old)
