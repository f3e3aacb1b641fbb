"""`wright diff CLUSTER [NEW]`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import say, show_json, show_text
from clusterwright.errors import WrightError

if TYPE_CHECKING:
    from clusterwright.provision.change.drift import Drift, Row
    from clusterwright.provision.change.fields import FieldChange, Said
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
    from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_DONE, EXIT_FAILED

    if new is not None:
        differs, all_seen = two_files(cluster, new, json=json), True
    else:
        differs, all_seen = hosts(cluster, json=json)
    if not all_seen:
        return EXIT_FAILED
    return EXIT_CHANGES_PENDING if exit_code and differs else EXIT_DONE


FEW = 3  # so many things of one kind are named one by one, more are counted


def hosts(file: Path, *, json: bool) -> tuple[bool, bool]:
    """The hosts held against the file: whether they differ, and whether all of them were seen."""
    from clusterwright.config.load import load_cluster
    from clusterwright.provision.apply import apply, remote_of
    from clusterwright.provision.change.drift import drift
    from clusterwright.provision.change.fields import WORDS

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
    from clusterwright.provision.change.fields import WORDS

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
    from clusterwright.config.field import Cost

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
    from clusterwright.config.names import fold
    from clusterwright.provision.change.fields import WORDS, between, dearest, gone_hosts, new_hosts

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
    from clusterwright.config.load import source_of
    from clusterwright.provision.change.fields import Said

    source = source_of(path)
    try:
        return Said.of(source)
    except WrightError:
        say(f"{path} is not a good cluster file:")
        raise
