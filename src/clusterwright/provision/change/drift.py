"""Drift: differences between hosts and the cluster file with their causes, folded over hosts."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.i18n import N_, _
from clusterwright.provision.change.fields import dearest
from clusterwright.provision.report import Change, ChangeReport

CAUSE_LABELS = {
    "new": N_("not applied yet"),
    "found": N_("not applied yet; an existing file would be replaced"),
    "changed": N_("the cluster file changed since the last apply"),
    "edited": N_("edited by hand since the last apply"),
    "missing": N_("removed by hand since the last apply"),
    "stopped": N_("stopped, disabled or failed since the last apply"),
    "hardware": N_("the host's devices or addresses changed since the last apply"),
    "follows": N_("follows from the changes above"),
    "": N_("unknown cause"),
}
MANUAL_CAUSES = ("edited", "missing", "stopped", "found")


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One difference between hosts and the cluster file, with its cause and all its hosts (folded)."""

    hosts: str
    id: str
    cause: str
    reason: str
    change: str
    cost: Cost
    diff: str


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences of all hosts from the cluster file."""

    rows: tuple[DriftRow, ...]
    in_sync: str
    changed_manually: str
    changed_in_file: str
    unreached: str
    failed: tuple[tuple[str, str], ...]
    cost: Cost

    @property
    def differs(self) -> bool:
        """Return True if a reached host differs from the cluster file."""
        return bool(self.rows)


def drift(report: ChangeReport) -> Drift:
    """Return the drift in a report; unreached hosts are listed and count neither as equal nor as different."""
    return Drift(
        rows=_rows(report),
        in_sync=fold([host.host for host in report.hosts if host.ok and not host.changes]),
        changed_manually=_having(report, MANUAL_CAUSES),
        changed_in_file=_having(report, ("changed", "new")),
        unreached=fold(report.unreached),
        failed=tuple((host.host, host.error) for host in report.failed),
        cost=dearest(tuple(change.cost for host in report.hosts for change in host.changes)),
    )


def _rows(report: ChangeReport) -> tuple[DriftRow, ...]:
    hosts_by_change: dict[Change, list[str]] = {}
    for host in report.hosts:
        for change in host.changes:
            hosts_by_change.setdefault(change, []).append(host.host)
    rows = [
        DriftRow(
            fold(hosts),
            difference.id,
            difference.drift,
            _(CAUSE_LABELS.get(difference.drift, difference.drift)),
            difference.summary,
            difference.cost,
            difference.diff,
        )
        for difference, hosts in hosts_by_change.items()
    ]
    return tuple(sorted(rows, key=lambda row: row.cause not in MANUAL_CAUSES))


def _having(report: ChangeReport, causes: tuple[str, ...]) -> str:
    return fold(
        [host.host for host in report.hosts if any(change.drift in causes for change in host.changes)]
    )
