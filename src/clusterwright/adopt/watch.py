"""Watch what an adopted cluster file describes and no role manages: each difference between the file and the site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.adopt.account_tables import ASSOCIATIONS
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.meaning import Difference, differences
from clusterwright.adopt.other_files import FILES, file_differences
from clusterwright.adopt.recorded import RecordedSite
from clusterwright.adopt.reservations import TABLE
from clusterwright.adopt.site import describe
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import release
from clusterwright.config.slurm_rules import Source, parse_conf
from clusterwright.i18n import _
from clusterwright.provision.render.slurm_conf import slurm_conf

_SECTIONS = ("qos", "teams", "users")
_ELSEWHERE = frozenset({"gid", "uid", "ssh_keys", "admin"})  # of hosts, not of slurmdbd


def is_watched(cluster: Cluster) -> bool:
    """Return True if the cluster file describes parts of Slurm or accounting that only the site changes."""
    return cluster.slurm.is_of_site and not (cluster.manages("slurm") and cluster.manages("teams"))


def watches_accounts(cluster: Cluster) -> bool:
    """Return True if the cluster file describes accounts or reservations that only the site changes."""
    has_any = any((cluster.qos, cluster.teams, cluster.users, cluster.reservations))
    return cluster.slurm.is_of_site and has_any and not cluster.manages("teams")


def watched(cluster: Cluster, site: RecordedSite) -> list[str]:
    """Return a line for each place where the site's Slurm differs from the cluster file: the file's value first."""
    lines = [] if cluster.manages("slurm") else list(_slurm_files(cluster, site))
    return lines + (list(_accounts(cluster, site)) if watches_accounts(cluster) else [])


def _slurm_files(cluster: Cluster, site: RecordedSite) -> Iterator[str]:
    slurm_release = release(cluster.software.slurm)
    expected = parse_conf([Source("slurm.conf", "slurm.conf", slurm_conf(cluster, ""))], slurm_release)
    conf = parse_conf(site.sources(), slurm_release)
    yield from (f"slurm.conf: {difference}" for difference in differences(expected, conf))
    for kind in FILES:
        if kind in conf.files or kind in cluster.slurm.files:
            yield from map(str, file_differences(cluster, conf, kind))


def _accounts(cluster: Cluster, site: RecordedSite) -> Iterator[str]:
    if not site.tables.get(ASSOCIATIONS, "").strip() and cluster.accounting.enabled:
        yield _("slurmdbd did not answer, so teams, users, QOS and reservations are not compared")
        return
    observed = describe(site.sources(), cluster.software.slurm, "", facts_of(site)).cluster
    for section in _SECTIONS:
        rows = _section_differences(section, getattr(cluster, section), getattr(observed, section))
        yield from map(str, rows)
    if site.tables.get(TABLE, "").strip():
        yield from map(str, _section_differences("reservations", cluster.reservations, observed.reservations))


def _section_differences(
    section: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> Iterator[Difference]:
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            yield Difference(section, name, "+" if name in ours else "", "+" if name in theirs else "")
            continue
        old, new = _fields(ours[name]), _fields(theirs[name])
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                yield Difference(f"{section}.{name}", key, _text(old.get(key)), _text(new.get(key)))


def _fields(entry: Any) -> dict[str, Any]:
    """Return what a section of the cluster file sets, by field, with its `options` one by one, to compare.

    Of a repeated reservation's start only the time of day is returned.
    """
    fields: dict[str, Any] = entry.model_dump(mode="json", exclude_unset=True, exclude=_ELSEWHERE)
    fields |= fields.pop("options", {})
    if fields.get("repeat", "once") != "once":
        fields["start"] = fields["start"].partition("T")[2]
    return fields


def _text(value: Any) -> str:
    return "" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)
