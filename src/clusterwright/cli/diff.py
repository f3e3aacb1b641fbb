"""`wright diff [NEW]`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import (
    cluster_option,
    show_error,
    show_json,
    show_message,
    show_next,
    show_text,
    show_verbatim,
)
from clusterwright.cli._started_lab import require_lab
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.adopt.baseline import Baseline
    from clusterwright.config.cluster import Cluster
    from clusterwright.provision.change.drift import Drift, DriftRow
    from clusterwright.provision.change.fields import ClusterFile, FieldChange
    from clusterwright.provision.report import ChangeReport


def diff(
    new: Path | None = None,
    /,
    *,
    cluster: Path | None = None,
    exit_code: bool = False,
    json: bool = False,
) -> int:
    """Show drift: how the hosts differ from the cluster file and why. With a second file, compare the two files.

    Parameters
    ----------
    new
        Second cluster file: compare the files field by field, without contacting hosts.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    exit_code
        Exit with 3 if there is a difference.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_FAILED, EXIT_OK

    file = cluster_file(cluster)
    if new is not None:
        if new.is_dir():
            raise _folder(new, file)
        if cluster is None and new.exists() and new.samefile(file):
            raise _itself(file)
        differs, all_reached = two_files(file, new, json=json), True
    else:
        differs, all_reached = hosts(file, json=json)
    if not all_reached:
        return EXIT_FAILED
    return EXIT_CHANGES_PENDING if exit_code and differs else EXIT_OK


def _folder(new: Path, file: Path) -> WrightError:
    """Return the error of a folder, such as one of `wright render`, in place of a second cluster file."""
    message = _("{path} is a folder; a second cluster file is compared", path=new)
    fix = _("to compare the hosts with the cluster file: wright diff {option}", option=cluster_option(file))
    return WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


FEW = 3  # more new files of one folder are shown as a count


def hosts(file: Path, *, json: bool) -> tuple[bool, bool]:
    """Print how the hosts differ from the cluster file; return whether they differ, and whether all were reached."""
    from clusterwright.config.load import load_cluster
    from clusterwright.provision.apply import apply, remote_of
    from clusterwright.provision.change.drift import drift
    from clusterwright.provision.change.fields import COST_LABELS

    cluster = load_cluster(file)
    report = apply(cluster, str(file), remote_of(cluster), dry_run=True)
    if report.unreached:
        require_lab(cluster)
    drift_report, watched_rows = drift(report), watched_lines(cluster, file)
    if json:
        show_json(
            dataclasses.asdict(drift_report)
            | {"differs": drift_report.differs, "does": _(COST_LABELS[drift_report.cost])}
            | ({"watched": watched_rows} if watched_rows else {})
        )
    else:
        show_drift(drift_report, report, file)
        for line in watched_rows:
            show_text(_("watched, not managed: {difference}", difference=line))
    return drift_report.differs, report.ok


def watched_lines(cluster: Cluster, file: Path | None = None) -> list[str]:
    """Return where the site has changed what the file, or the baseline next to it, describes and no role manages.

    An error of reading Slurm's settings or the baseline is one of the lines.
    """
    from clusterwright.adopt.gather import gather_watched, gather_watched_hosts
    from clusterwright.adopt.watch import is_watched, watched
    from clusterwright.adopt.watch_hosts import watched_hosts, watched_texts
    from clusterwright.provision.apply import remote_of

    remote, (baseline, lines) = remote_of(cluster), _baseline(cluster, file)
    try:
        lines += watched(cluster, gather_watched(remote, cluster)) if is_watched(cluster) else []
    except WrightError as error:
        lines.append(error.findings[0].message)
    if names := watched_texts(cluster, baseline):
        lines += watched_hosts(cluster, gather_watched_hosts(remote, cluster, names), baseline)
    return lines


def _baseline(cluster: Cluster, file: Path | None) -> tuple[Baseline | None, list[str]]:
    """Return the baseline of an adopted cluster, and a line of text if it cannot be read; None if it is not watched."""
    from clusterwright.adopt.baseline import baseline_path, is_baseline_watched, parse_baseline
    from clusterwright.config.load import text_of

    if file is None or not is_baseline_watched(cluster):
        return None, []
    path = baseline_path(file)
    try:
        return parse_baseline(text_of(path)), []
    except WrightError as error:
        reason = error.findings[0].message
    except ValueError as error:
        reason = f"{path}: {error}"
    message = _(
        "limits, units and firewall of hosts are not compared: {reason}; `wright adopt` writes this file",
        reason=reason,
    )
    return None, [message]


def show_drift(drift_report: Drift, report: ChangeReport, file: Path) -> None:
    """Print the differences of the hosts, the hosts by state, errors, and what the next apply does.

    Manual changes first, then changes of the file.
    """
    from clusterwright.cli.apply import folded_errors
    from clusterwright.provision.change.fields import COST_LABELS

    for line in drift_lines(drift_report.rows):
        (show_verbatim if line.startswith("    ") else show_text)(line)
    for hosts, label in (
        (drift_report.in_sync, _("match the cluster file")),
        (drift_report.changed_manually, _("changed manually, or never applied")),
        (drift_report.changed_in_file, _("older than the cluster file")),
        (drift_report.unreached, _("unreachable, state unknown")),
    ):
        if hosts:
            show_message(f"{hosts}: {label}")
    for host, error in drift_report.failed:
        show_error(f"{host}: {error}")
    for hosts, error in folded_errors(report, reached=False):
        show_error(_("unreachable: {hosts}: {error}", hosts=hosts, error=error))
    if drift_report.rows:
        show_message(
            _n(
                "the next apply makes {count} change: [{cost}] {effect}",
                "the next apply makes {count} changes: [{cost}] {effect}",
                report.pending,
                cost=drift_report.cost,
                effect=_(COST_LABELS[drift_report.cost]),
            )
        )
        show_next(f"wright apply {cluster_option(file)}")


def drift_lines(rows: Iterable[DriftRow]) -> list[str]:
    """Return one line per difference with its cause and diff; more than FEW new files of a folder become one line.

    New files have no diff; the cost is omitted if the change is live.
    """
    from clusterwright.config.field import Cost

    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.cause == "new" and not row.id.startswith(("unit:", "records:")):
            new.setdefault((row.hosts, row.id.rpartition("/")[0], row.reason), []).append(row.id)
            continue
        cost = "" if row.cost is Cost.LIVE else f"  [{row.cost}]"
        lines.append(f"{row.hosts}: {row.id}: {row.reason}; {row.change}{cost}")
        diff_lines = (line for line in row.diff.splitlines() if not line.startswith(("--- ", "+++ ")))
        lines += [f"    {line}" for line in diff_lines]
    for (hosts, folder, reason), names in new.items():
        labels = (
            names
            if len(names) <= FEW
            else [
                _("{folder}: {count} files", folder=folder, count=len(names)) if folder else str(len(names))
            ]
        )
        lines += [f"{hosts}: {name}: {reason}" for name in labels]
    return lines


def two_files(old: Path, new: Path, *, json: bool) -> bool:
    """Print how two cluster files differ field by field; return True if they differ.

    Raises:
        SpecError: one of the files is invalid.
    """
    from clusterwright.config.names import fold
    from clusterwright.provision.change.fields import (
        COST_LABELS,
        dearest,
        diff_fields,
        new_hosts,
        removed_hosts,
    )

    old_file, new_file = _read_file(old), _read_file(new, other_than=old)
    changes = diff_fields(old_file, new_file)
    coming = fold(new_hosts(old_file.cluster, new_file.cluster))
    going = fold(removed_hosts(old_file.cluster, new_file.cluster))
    cost = dearest(tuple(change.cost for change in changes))
    if json:
        document = {"changes": changes, "new_hosts": coming, "gone_hosts": going, "cost": cost}
        show_json(document | {"does": _(COST_LABELS[cost]) if changes else ""})
        return bool(changes)
    for change in changes:
        show_text(field_line(change))
    if coming:
        show_message(_("new hosts: {hosts}; no jobs run on them yet", hosts=coming))
    if going:
        show_message(_("removed hosts: {hosts}; drain these hosts first", hosts=going))
    show_message(
        _n(
            "{count} field differs: [{cost}] {effect}",
            "{count} fields differ: [{cost}] {effect}",
            len(changes),
            cost=cost,
            effect=_(COST_LABELS[cost]),
        )
        if changes
        else _("the files do not differ")
    )
    return bool(changes)


def _itself(file: Path) -> WrightError:
    """Return the error of a command line that names the cluster file as its own second file."""
    return WrightError.from_code(
        "usage",
        _("{file} is the cluster file itself, which does not differ from itself", file=file),
        _(
            "to compare the hosts with it: wright diff {option}; two files: wright diff NEW {option}",
            option=cluster_option(file),
        ),
        exit_code=EXIT_USAGE,
    )


def field_line(change: FieldChange) -> str:
    """Return a change of a field as text: `slurm.kill_wait: 30s (default) -> 1m  [reconfigure] effect`."""
    sides = f"{change.old or _('(not set)')} -> {change.new or _('(removed)')}"
    return f"{change.path}: {sides}  [{change.cost}] {change.reason}"


def _read_file(path: Path, *, other_than: Path | None = None) -> ClusterFile:
    from clusterwright.config.load import source_of
    from clusterwright.provision.change.fields import ClusterFile

    source = source_of(path, other_than=other_than)
    try:
        return ClusterFile.from_source(source)
    except WrightError:
        show_message(_("{file} is not a valid cluster file:", file=path))
        raise
