"""`wright diff CLUSTER [NEW]`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import show_json, show_message, show_text
from clusterwright.errors import WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.provision.change.drift import Drift, Row
    from clusterwright.provision.change.fields import ClusterFile, FieldChange
    from clusterwright.provision.report import Report


def diff(cluster: Path, new: Path | None = None, /, *, exit_code: bool = False, json: bool = False) -> int:
    """Show where the hosts are not as the file says, and why; or what differs between two files.

    Parameters
    ----------
    cluster
        The cluster file.
    new
        Another one: then no host is asked, and the two are compared field by field.
    exit_code
        Exit with 3 when there is a difference.
    json
        One JSON document on stdout.
    """
    from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_FAILED, EXIT_OK

    if new is not None:
        differs, all_reached = two_files(cluster, new, json=json), True
    else:
        differs, all_reached = hosts(cluster, json=json)
    if not all_reached:
        return EXIT_FAILED
    return EXIT_CHANGES_PENDING if exit_code and differs else EXIT_OK


FEW = 3  # so many things of one kind are named one by one, more are counted


def hosts(file: Path, *, json: bool) -> tuple[bool, bool]:
    """The hosts held against the file: whether they differ, and whether all of them were seen."""
    from clusterwright.config.load import load_cluster
    from clusterwright.provision.apply import apply, remote_of
    from clusterwright.provision.change.drift import drift
    from clusterwright.provision.change.fields import COST_LABELS

    cluster = load_cluster(file)
    report = apply(cluster, str(file), remote_of(cluster), dry_run=True)
    drift_report = drift(report)
    if json:
        show_json(
            dataclasses.asdict(drift_report)
            | {"differs": drift_report.differs, "does": _(COST_LABELS[drift_report.cost])}
        )
    else:
        show_drift(drift_report, report, str(file))
    return drift_report.differs, report.ok


def show_drift(drift_report: Drift, report: Report, file: str) -> None:
    """Differences made by hand first, then those of the file; who is as wanted; what the next apply does."""
    from clusterwright.provision.change.fields import COST_LABELS

    lines = list(drift_lines(drift_report.rows))
    if lines:
        show_text("\n".join(lines))
    for hosts, label in (
        (drift_report.as_wanted, "as the file says"),
        (drift_report.by_hand, "changed by hand, or never applied over what was there"),
        (drift_report.by_file, "behind the file"),
        (drift_report.unreached, "not reached: not known"),
    ):
        if hosts:
            show_message(f"{hosts}: {label}")
    for host, error in drift_report.failed:
        show_message(f"{host}: {error}")
    if drift_report.rows:
        show_message(
            _(
                "the next apply: {pending} changes, [{cost}] {cost_labels}",
                pending=report.pending,
                cost=drift_report.cost,
                cost_labels=_(COST_LABELS[drift_report.cost]),
            )
        )
        show_message(_("next: wright apply {file}", file=file))


def drift_lines(rows: Iterable[Row]) -> list[str]:
    """One line a difference with its cause, and its diff; many new things of one folder are counted."""
    from clusterwright.config.field import Cost

    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.cause == "new" and not row.id.startswith(("unit:", "records:")):
            new.setdefault((row.hosts, row.id.rpartition("/")[0], row.why), []).append(row.id)
            continue
        cost = "" if row.cost is Cost.LIVE else f"  [{row.cost}]"
        lines.append(f"{row.hosts}: {row.id}: {row.why}; {row.change}{cost}")
        diff_lines = (line for line in row.diff.splitlines() if not line.startswith(("--- ", "+++ ")))
        lines += [f"    {line}" for line in diff_lines]
    for (hosts, folder, reason), names in new.items():
        labels = names if len(names) <= FEW else [f"{folder or 'in all'}: {len(names)}"]
        lines += [f"{hosts}: {name}: {reason}" for name in labels]
    return lines


def two_files(old: Path, new: Path, *, json: bool) -> bool:
    """Two files field by field: whether they differ.

    Raises:
        SpecError: what is wrong with either of them.
    """
    from clusterwright.config.names import fold
    from clusterwright.provision.change.fields import (
        COST_LABELS,
        dearest,
        diff_fields,
        new_hosts,
        removed_hosts,
    )

    old_file, new_file = _read_file(old), _read_file(new)
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
    for hosts, note in ((coming, "new; nothing runs there yet"), (going, "gone; drain them first")):
        if hosts:
            show_message(_("hosts {hosts}: {note}", hosts=hosts, note=note))
    show_message(
        _(
            "{count} fields differ; [{cost}] {cost_labels}",
            count=len(changes),
            cost=cost,
            cost_labels=_(COST_LABELS[cost]),
        )
        if changes
        else _("nothing differs")
    )
    return bool(changes)


def field_line(change: FieldChange) -> str:
    """`slurm.kill_wait: 30s (default) -> 1m  [reconfigure] what that does`."""
    sides = f"{change.old or '(not there)'} -> {change.new or '(taken out)'}"
    return f"{change.path}: {sides}  [{change.cost}] {change.why}"


def _read_file(path: Path) -> ClusterFile:
    from clusterwright.config.load import source_of
    from clusterwright.provision.change.fields import ClusterFile

    source = source_of(path)
    try:
        return ClusterFile.from_source(source)
    except WrightError:
        show_message(_("{path} is not a good cluster file:", path=path))
        raise
