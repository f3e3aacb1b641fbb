"""How differences are shown: of hosts from their file, and of two files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from clusterwright.cli._show import say, show_json, show_text
from clusterwright.config.field import Cost
from clusterwright.config.load import load_cluster, source_of
from clusterwright.config.names import fold
from clusterwright.errors import WrightError
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.drift import Drift, Row, drift
from clusterwright.provision.change.fields import (
    WORDS,
    FieldChange,
    Said,
    between,
    dearest,
    gone_hosts,
    new_hosts,
)
from clusterwright.provision.report import Report

FEW = 3  # so many things of one kind are named one by one, more are counted


def hosts(file: Path, *, json: bool) -> tuple[bool, bool]:
    """The hosts held against the file: whether they differ, and whether all of them were seen."""
    cluster = load_cluster(file)
    report = apply(cluster, str(file), remote_of(cluster), dry_run=True)
    found = drift(report)
    if json:
        show_json(dataclasses.asdict(found) | {"differs": found.differs, "does": WORDS[found.cost]})
    else:
        show_drift(found, report, str(file))
    return found.differs, report.ok


def show_drift(found: Drift, report: Report, file: str) -> None:
    """Differences made by hand first, then those of the file; who is as wanted; what the next apply does."""
    lines = list(drift_lines(found.rows))
    if lines:
        show_text("\n".join(lines))
    for hosts, words in (
        (found.as_wanted, "as the file says"),
        (found.by_hand, "changed by hand, or never applied over what was there"),
        (found.by_file, "behind the file"),
        (found.unreached, "not reached: not known"),
    ):
        if hosts:
            say(f"{hosts}: {words}")
    for host, error in found.failed:
        say(f"{host}: {error}")
    if found.rows:
        say(f"the next apply: {report.pending} changes, [{found.cost}] {WORDS[found.cost]}")
        say(f"next: wright apply {file}")


def drift_lines(rows: Iterable[Row]) -> list[str]:
    """One line a difference with its cause, and its diff; many new things of one folder are counted."""
    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.cause == "new" and not row.id.startswith(("unit:", "records:")):
            new.setdefault((row.hosts, row.id.rpartition("/")[0], row.why), []).append(row.id)
            continue
        cost = "" if row.cost is Cost.LIVE else f"  [{row.cost}]"
        lines.append(f"{row.hosts}: {row.id}: {row.why}; {row.change}{cost}")
        shown = (line for line in row.diff.splitlines() if not line.startswith(("--- ", "+++ ")))
        lines += [f"    {line}" for line in shown]
    for (hosts, folder, why), names in new.items():
        shown_names = names if len(names) <= FEW else [f"{folder or 'in all'}: {len(names)}"]
        lines += [f"{hosts}: {name}: {why}" for name in shown_names]
    return lines


def two_files(old: Path, new: Path, *, json: bool) -> bool:
    """Two files field by field: whether they differ.

    Raises:
        SpecError: what is wrong with either of them.
    """
    before, after = _said(old), _said(new)
    found = between(before, after)
    coming = fold(new_hosts(before.cluster, after.cluster))
    going = fold(gone_hosts(before.cluster, after.cluster))
    cost = dearest(tuple(change.cost for change in found))
    if json:
        document = {"changes": found, "new_hosts": coming, "gone_hosts": going, "cost": cost}
        show_json(document | {"does": WORDS[cost] if found else ""})
        return bool(found)
    for change in found:
        show_text(field_line(change))
    for hosts, words in ((coming, "new; nothing runs there yet"), (going, "gone; drain them first")):
        if hosts:
            say(f"hosts {hosts}: {words}")
    say(f"{len(found)} fields differ; [{cost}] {WORDS[cost]}" if found else "nothing differs")
    return bool(found)


def field_line(change: FieldChange) -> str:
    """`slurm.kill_wait: 30s (default) -> 1m  [reconfigure] what that does`."""
    sides = f"{change.old or '(not there)'} -> {change.new or '(taken out)'}"
    return f"{change.path}: {sides}  [{change.cost}] {change.why}"


def _said(path: Path) -> Said:
    source = source_of(path)
    try:
        return Said.of(source)
    except WrightError:
        say(f"{path} is not a good cluster file:")
        raise
