"""Roll back an apply on every host that it changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.provision.carry import Agree, DisruptionPolicy, carry_out
from clusterwright.provision.report import ChangeReport, HostReport
from clusterwright.provision.work import HostWork, stamp


@dataclass(frozen=True, slots=True)
class Undoable:
    """An apply that can be rolled back, its hosts and its number of changes; `to` is set if it was a rollback."""

    when: str
    source: str
    hosts: str
    changed: int
    to: str = ""


def undoable(cluster: Cluster, source: str, remote: Remote, clock: Clock | None = None) -> Listed:
    """Return the applies that hosts can roll back, newest first, and the hosts that failed to list theirs."""
    clock = clock or SystemClock()
    work = HostWork(cluster, Path(source).name, remote, clock, stamp(clock))
    host_reports = fan_out(cluster.permanent_hosts(), lambda host: work.run_agent(host, "list"))
    return Listed(
        fold_applies(host_reports.values()),
        tuple(host_report for host_report in host_reports.values() if host_report.error),
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """The applies that can be rolled back, and the reports of hosts that failed to list theirs."""

    applies: tuple[Undoable, ...]
    failed: tuple[HostReport, ...]


def fold_applies(reports: Iterable[HostReport]) -> tuple[Undoable, ...]:
    """Return the applies listed by hosts, merged: one entry for each apply, newest first."""
    rows_by_apply: dict[str, list[tuple[str, str, str, int]]] = {}
    for report in reports:
        for when, source, to, changed in report.undoes:
            rows_by_apply.setdefault(when, []).append((report.host, source, to, changed))
    return tuple(
        Undoable(when, rows[0][1], fold([row[0] for row in rows]), sum(row[3] for row in rows), rows[0][2])
        for when, rows in sorted(rows_by_apply.items(), reverse=True)
    )


def rollback(
    cluster: Cluster,
    source: str,
    remote: Remote,
    *,
    to: str = "",
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
    clock: Clock | None = None,
    policy: DisruptionPolicy | None = None,
) -> ChangeReport:
    """Restore every host to its state before the apply `to` (default: the newest), and return the report.

    Later applies are rolled back with it. `agree` gets the plan; nothing is changed with `dry_run` or if it returns
    False.

    Raises:
        WrightError: no host has stored this apply, or none responds.
    """
    clock = clock or SystemClock()
    listed = undoable(cluster, source, remote, clock)
    names = [entry.when for entry in listed.applies]
    chosen = to or (names[0] if names else "")
    if not names and len(listed.failed) == len(cluster.permanent_hosts()):
        message = _("no host responds: {error}", error=listed.failed[0].error)
        fix = _("run `wright check` to find out why; nothing was changed")
        raise WrightError.from_code("unreachable", message, fix)
    if chosen not in names:
        message = (
            _("no host has a stored apply `{apply}`", apply=to)
            if to
            else _("no host has an apply that can be rolled back")
        )
        fix = (
            _("choose one of: {names}", names=", ".join(names))
            if names
            else _(
                "run `wright apply` first: no apply has changed these hosts, or their undo folders were removed"
            )
        )
        raise WrightError.from_code("rollback-unknown", message, fix, exit_code=EXIT_USAGE)
    work = HostWork(cluster, Path(source).name, remote, clock, stamp(clock), to=chosen)
    hosts = list(cluster.permanent_hosts())
    return carry_out(work, hosts, policy=policy or DisruptionPolicy(), dry_run=dry_run, agree=agree)
