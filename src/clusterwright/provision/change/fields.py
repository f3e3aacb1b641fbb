"""Differences between two cluster files, field by field, with the cost of each for a running cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.field import Cost
from clusterwright.config.fields import NOT_SET, Field, fields, matching, written
from clusterwright.config.load import cluster_of
from clusterwright.config.slurm_keys import release
from clusterwright.config.source import Loc, Source, dotted
from clusterwright.i18n import N_, _

RANK = {cost: rank for rank, cost in enumerate(Cost)}

COST_LABELS = {
    Cost.LIVE: N_("no effect on running jobs"),
    Cost.RECONFIGURE: N_("Slurm rereads its configuration; no effect on running jobs"),
    Cost.RESTART: N_("daemons restart; running jobs continue"),
    Cost.DRAIN: N_("the hosts must be drained: `wright apply --drain` waits until their jobs have ended"),
    Cost.REBOOT: N_("the hosts must be drained and rebooted: `wright apply --reboot` does both"),
    Cost.REBUILD: N_("hosts or the cluster must be rebuilt; jobs and stored data are lost"),
}
# Adding or removing a named item has its own cost, not that of its fields: a new user is live, but another ID of an
# existing one is a rebuild. Slurm ends the jobs of a partition that is removed from slurm.conf.
NEW = {"partitions": Cost.RECONFIGURE}
REMOVAL_COSTS = {"nodes": Cost.DRAIN, "partitions": Cost.DRAIN, "storage": Cost.DRAIN}
NAMED = ("nodes", "storage", "partitions", "qos", "reservations", "teams", "users")
RESTARTS_TO_GROW = "23.11"  # before this release daemons read new hosts only at a restart


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """A cluster file: its source with positions, the validated cluster, and that as plain values."""

    source: Source
    cluster: Cluster
    values: Mapping[str, Any]

    @classmethod
    def from_source(cls, source: Source) -> ClusterFile:
        """Return the parsed and validated cluster file of a text.

        Raises:
            SpecError: the source is invalid; with all errors.
        """
        cluster = cluster_of(source)
        return cls(source, cluster, cluster.model_dump(mode="json"))

    def has(self, loc: Loc) -> bool:
        """Return whether a value exists at `loc`, set or by default; a value of None does not."""
        values: Any = self.values
        for part in loc:
            if not isinstance(values, Mapping) or part not in values:
                return False
            values = values[part]
        return values is not None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of the cluster file that differs; `old` or `new` is empty where that file lacks the field's section."""

    path: str
    old: str
    new: str
    cost: Cost
    reason: str


def diff_fields(old: ClusterFile, new: ClusterFile) -> tuple[FieldChange, ...]:
    """Return the fields whose values differ, in field order; differences of notation only are not included."""
    all_fields = fields("cluster")
    return tuple(_change(old, new, loc, all_fields) for loc in _differing(old.values, new.values, ()))


def dearest(costs: Iterator[Cost] | tuple[Cost, ...]) -> Cost:
    """Return the cost that disrupts a running cluster most; `live` if there is none."""
    return max(costs, key=RANK.__getitem__, default=Cost.LIVE)


def _differing(old: Any, new: Any, loc: Loc) -> Iterator[Loc]:
    """Yield the paths of differing values; a section or named item that one side lacks is one difference."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            child_loc = (*loc, key)
            if key not in old or key not in new:
                yield child_loc
            else:
                yield from _differing(old[key], new[key], child_loc)
    elif old != new:
        yield loc


def _change(old: ClusterFile, new: ClusterFile, loc: Loc, all_fields: tuple[Field, ...]) -> FieldChange:
    field = _field(loc, all_fields, new if new.has(loc) else old)
    cost = _cost(old, new, loc, field)
    return FieldChange(
        dotted(loc),
        _display_value(old, loc, field),
        _display_value(new, loc, field),
        cost,
        _(COST_LABELS[cost]),
    )


def _field(loc: Loc, all_fields: tuple[Field, ...], cluster_file: ClusterFile) -> Field | None:
    """Return the documented field at `loc`, in the variant of the file's `kind`; None for a named item or without one.

    A deeper path without a field has that of the path above it.
    """
    matches = matching(".".join(map(str, loc)), all_fields) if not _is_named(loc) else ()
    if not matches and len(loc) > 2:
        return _field(loc[:-1], all_fields, cluster_file)
    above: Any = cluster_file.source.values
    for part in loc[:-1]:
        above = above.get(part, {}) if isinstance(above, dict) else {}
    kind = above.get("kind") if isinstance(above, dict) else None
    return next((field for field in matches if field.variant in ("", kind)), None)


def _is_named(loc: Loc) -> bool:
    return len(loc) == 2 and loc[0] in NAMED


def _display_value(cluster_file: ClusterFile, loc: Loc, field: Field | None) -> str:
    """Return the value as written in the file, or `a section` for a section.

    If it is not set, return the field's default; empty if the file lacks the section above it.
    """
    values: Any = cluster_file.source.values
    for part in loc:
        if not isinstance(values, dict) or part not in values:
            return _default(cluster_file, loc, field)
        values = values[part]
    return _("a section") if isinstance(values, dict) else written(values)


def _default(cluster_file: ClusterFile, loc: Loc, field: Field | None) -> str:
    if field is None or not cluster_file.has(loc[:-1]):
        return ""
    return field.default if field.default == _(NOT_SET) else _("default: {default}", default=field.default)


def _cost(old: ClusterFile, new: ClusterFile, loc: Loc, field: Field | None) -> Cost:
    if _is_named(loc):
        if loc[1] not in getattr(old.cluster, str(loc[0])):
            return _growing(new.cluster) if loc[0] == "nodes" else NEW.get(str(loc[0]), Cost.LIVE)
        return REMOVAL_COSTS.get(str(loc[0]), Cost.LIVE)
    if loc[0] == "nodes" and loc[-1] in ("hosts", "absent") and _only_grows(old, new, str(loc[1])):
        return _growing(new.cluster)
    return Cost(field.cost) if field else Cost.REBUILD


def _only_grows(old: ClusterFile, new: ClusterFile, group: str) -> bool:
    """Return whether the group, which both files have, retains all its hosts and their places, hence addresses."""
    old_group, new_group = old.cluster.nodes[group], new.cluster.nodes[group]
    return set(old_group.places()) <= set(new_group.places())


def _growing(cluster: Cluster) -> Cost:
    """Return the cost of new hosts for existing ones: a reconfigure since 23.11, a restart of daemons before."""
    new_enough = release(cluster.software.slurm) >= RESTARTS_TO_GROW
    return Cost.RECONFIGURE if new_enough else Cost.RESTART


def removed_hosts(old: Cluster, new: Cluster) -> tuple[str, ...]:
    """Return the names of hosts that only the old file has, in its order."""
    remaining_names = {host.name for host in new.hosts()}
    return tuple(host.name for host in old.hosts() if host.name not in remaining_names)


def new_hosts(old: Cluster, new: Cluster) -> tuple[str, ...]:
    """Return the names of hosts that only the new cluster file has, in its order."""
    return removed_hosts(new, old)
