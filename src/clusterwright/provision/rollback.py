"""Back to before an apply, on every host that it changed."""

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
from clusterwright.provision.report import HostReport, Report
from clusterwright.provision.work import Work, stamp


@dataclass(frozen=True, slots=True)
class Undoable:
    """An apply that can be undone, or a rollback (`to`): on which hosts, and how much it changed on all of them."""

    when: str
    source: str
    hosts: str
    changed: int
    to: str = ""


def undoable(cluster: Cluster, source: str, remote: Remote, clock: Clock | None = None) -> Listed:
    """What the hosts keep, the newest first, and which hosts did not say."""
    clock = clock or SystemClock()
    work = Work(cluster, Path(source).name, remote, clock, stamp(clock))
    host_reports = fan_out([host.name for host in cluster.hosts()], lambda host: work.run_agent(host, "list"))
    return Listed(
        fold_applies(host_reports.values()),
        tuple(host_report for host_report in host_reports.values() if host_report.error),
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """The applies, and the hosts that could not be asked."""

    applies: tuple[Undoable, ...]
    failed: tuple[HostReport, ...]


def fold_applies(reports: Iterable[HostReport]) -> tuple[Undoable, ...]:
    """One for each apply over all its hosts, the newest first."""
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
) -> Report:
    """Every host goes back to before the apply `to`, or before the newest one; a plan is shown first.

    Raises:
        WrightError: no host keeps such an apply.
    """
    clock = clock or SystemClock()
    listed = undoable(cluster, source, remote, clock)
    names = [entry.when for entry in listed.applies]
    chosen = to or (names[0] if names else "")
    if chosen not in names:
        message = (
            _("no host keeps an apply `{to}`", to=to)
            if to
            else _("no host keeps an apply that could be undone")
        )
        fix = (
            _("name one of: {names}", names=", ".join(names))
            if names
            else _("nothing was applied there, or all was undone by hand")
        )
        raise WrightError.from_code("rollback-unknown", message, fix, exit_code=EXIT_USAGE)
    work = Work(cluster, Path(source).name, remote, clock, stamp(clock), to=chosen)
    hosts = [host.name for host in cluster.hosts()]
    return carry_out(work, hosts, policy=policy or DisruptionPolicy(), dry_run=dry_run, agree=agree)
