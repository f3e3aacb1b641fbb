"""Where the hosts are not as the file says, and why: what a look at them found, folded for reading."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.provision.change.fields import dearest
from clusterwright.provision.report import Change, Report

WORDS = {
    "new": "never applied here",
    "found": "never applied here; something that is not ours is in its place",
    "changed": "the file asks for another than at our last apply",
    "edited": "edited by hand since our last apply",
    "missing": "removed by hand since our last apply",
    "stopped": "stopped or disabled by hand since our last apply, or it died",
    "hardware": "the host has other devices or addresses than at our last apply",
    "follows": "because of the changes above",
    "": "why is not known",
}
BY_HAND = ("edited", "missing", "stopped", "found")


@dataclass(frozen=True, slots=True)
class Row:
    """One difference with all the hosts that have it."""

    hosts: str
    id: str
    cause: str
    why: str
    change: str
    cost: Cost
    diff: str


@dataclass(frozen=True, slots=True)
class Drift:
    """All hosts, held against the file."""

    rows: tuple[Row, ...]
    as_wanted: str
    by_hand: str
    by_file: str
    unreached: str
    failed: tuple[tuple[str, str], ...]
    cost: Cost

    @property
    def differs(self) -> bool:
        """True when a host that answered is not as the file says."""
        return bool(self.rows)


def drift(report: Report) -> Drift:
    """What the look at the hosts found; a host that did not answer is named, and counts as neither."""
    return Drift(
        rows=_rows(report),
        as_wanted=fold([host.host for host in report.hosts if host.ok and not host.changes]),
        by_hand=_having(report, BY_HAND),
        by_file=_having(report, ("changed", "new")),
        unreached=fold(report.unreached),
        failed=tuple((host.host, host.error) for host in report.failed),
        cost=dearest(tuple(change.cost for host in report.hosts for change in host.changes)),
    )


def _rows(report: Report) -> tuple[Row, ...]:
    found: dict[Change, list[str]] = {}
    for host in report.hosts:
        for change in host.changes:
            found.setdefault(change, []).append(host.host)
    rows = [
        Row(fold(hosts), one.id, one.drift, WORDS.get(one.drift, one.drift), one.what, one.cost, one.diff)
        for one, hosts in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: row.cause not in BY_HAND))


def _having(report: Report, causes: tuple[str, ...]) -> str:
    return fold([host.host for host in report.hosts if any(one.drift in causes for one in host.changes)])
