"""`wright add-hosts` and `wright remove-hosts`: show the changes, ask, make them, and report."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path

from clusterwright.cli._show import (
    cluster_option,
    is_confirmed,
    show_error,
    show_json,
    show_message,
    show_note,
    show_text,
    show_verbatim,
)
from clusterwright.cli._wrapping import command_text
from clusterwright.cli.diff import drift_lines, field_line
from clusterwright.config.load import source_of
from clusterwright.config.names import fold
from clusterwright.config.reader import read
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _, _n
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.drift import drift
from clusterwright.provision.change.fields import ClusterFile, diff_fields, new_hosts
from clusterwright.provision.change.hosts import hostlist, refuse_to_remove, with_hosts, without_hosts
from clusterwright.provision.grow import Growth, grow, is_ready, preview
from clusterwright.provision.report import ChangeReport
from clusterwright.provision.shrink import Removal, refuse_reserved, remembered, remove_hosts


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """The options of both commands."""

    dry_run: bool
    yes: bool
    json: bool


@dataclass(frozen=True, slots=True)
class How:
    """How hosts are removed."""

    wait_s: float
    cancel: bool
    purge: bool


def add(path: Path, group: str, hosts: str, options: MemberOptions) -> int:
    """Add hosts to a group of the cluster file and to the cluster, after the plan is shown and confirmed.

    Return EXIT_OK, or EXIT_FAILED if a host failed. With `dry_run`, or if it is not confirmed, nothing changes and
    the result is EXIT_OK.
    """
    names = hostlist(hosts)
    current_file = ClusterFile.from_source(source_of(path))
    proposed_file = ClusterFile.from_source(read(with_hosts(current_file, group, names), str(path)))
    if present := [host.name for host in current_file.cluster.hosts() if host.name in names]:
        show_note(_("{hosts}: in {file} already", hosts=fold(present), file=path))
    remote = remote_of(proposed_file.cluster)
    growth = Growth(path, proposed_file, names)
    report = preview(growth, remote)
    if not options.json:
        show(current_file, proposed_file, report)
    if options.dry_run or not agreed(_("Add these hosts?"), options):
        show_json(_document(current_file, proposed_file, report)) if options.json else None
        return EXIT_OK
    result = grow(growth, remote, show_message)
    if options.json:
        show_json(
            {"ok": result.ok, "new": result.new, "others": result.other_report, "states": result.states}
        )
    failures(result.new, result.other_report)
    for host, state in result.states.items():
        if not is_ready(state):
            show_message(
                _(
                    "{host}: Slurm reports {state}; see journalctl -u slurmd on the host",
                    host=host,
                    state=state,
                )
            )
    show_message(
        _("{hosts}: added", hosts=fold(names))
        if result.ok
        else _(
            "next: fix the errors above, then run: {command}",
            command=command_text(_retry_command(path, group, hosts)),
        )
    )
    return EXIT_OK if result.ok else EXIT_FAILED


def remove(path: Path, hosts: str, how: How, options: MemberOptions) -> int:
    """Remove hosts from the cluster and from its file, after the plan is shown and confirmed.

    Return EXIT_OK, or EXIT_FAILED if a host failed. With `dry_run`, if it is not confirmed, or if the hosts are
    removed already, nothing changes and the result is EXIT_OK.
    """
    names = hostlist(hosts)
    current_file = ClusterFile.from_source(source_of(path))
    begun = remembered(current_file.cluster.name)
    host_names = {host.name for host in current_file.cluster.hosts()}
    present = tuple(name for name in names if name in host_names or name not in begun)
    if _is_removed(current_file, names, begun):
        show_message(_("{hosts}: already removed from {file}; nothing to do", hosts=fold(names), file=path))
        return EXIT_OK
    refuse_to_remove(current_file.cluster, present)
    proposed_file = ClusterFile.from_source(read(without_hosts(current_file, present), str(path)))
    remote = remote_of(current_file.cluster)
    task = Removal(path, current_file, names, how.wait_s, how.cancel, how.purge)
    refuse_reserved(task, remote)
    report = apply(proposed_file.cluster, str(path), remote, dry_run=True)
    if not options.json:
        show(current_file, proposed_file, report)
    if options.dry_run or not agreed(_("Drain and remove these hosts?"), options):
        show_json(_document(current_file, proposed_file, report)) if options.json else None
        return EXIT_OK
    result = remove_hosts(task, remote, show_message)
    if options.json:
        show_json({"ok": result.ok, "others": result.other_report, "still_there": result.failed_hosts})
    failures(result.other_report)
    show_message(
        _("{hosts}: removed", hosts=fold(names))
        if result.ok
        else _(
            "next: fix the errors above, then run: {command}",
            command=command_text(f"wright apply {cluster_option(path)}"),
        )
    )
    return EXIT_OK if result.ok else EXIT_FAILED


def show(current_file: ClusterFile, proposed_file: ClusterFile, report: ChangeReport) -> None:
    """Print the plan of a change of hosts: the diff of the cluster file, its effects, and the changes on hosts.

    Hosts that cannot be reached are named as skipped.
    """
    lines = file_lines(current_file, proposed_file)
    show_verbatim("\n".join(lines)) if lines else show_text(_("the cluster file needs no change"))
    for change in diff_fields(current_file, proposed_file):
        show_text(field_line(change))
    coming = new_hosts(current_file.cluster, proposed_file.cluster)
    existing_report = ChangeReport(tuple(host for host in report.hosts if host.host not in coming), dry=True)
    if lines := drift_lines(drift(existing_report).rows):
        show_text("\n".join(line for line in lines if not line.startswith("    ")))
    if coming:
        count = sum(len(host.changes) for host in report.hosts if host.host in coming)
        show_text(
            _n(
                "{hosts}: {count} change adds them to the cluster; no jobs run there yet",
                "{hosts}: {count} changes add them to the cluster; no jobs run there yet",
                count,
                hosts=fold(coming),
            )
        )
    for host in report.hosts:
        if not host.ok:
            error = host.error.splitlines()[0]
            show_note(
                _(
                    "{host}: skipped: {error}; run `wright apply` when the host is up",
                    host=host.host,
                    error=error,
                )
            )


def file_lines(current_file: ClusterFile, proposed_file: ClusterFile) -> list[str]:
    """Return the unified diff of two cluster files as lines; empty if they are equal."""
    old, new = current_file.source.text.splitlines(), proposed_file.source.text.splitlines()
    return list(
        difflib.unified_diff(old, new, current_file.source.file, proposed_file.source.file, lineterm="", n=1)
    )


def agreed(question: str, options: MemberOptions) -> bool:
    """Return True with --yes; else ask on the terminal and return whether the user confirms.

    Raises:
        WrightError: there is neither.
    """
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise WrightError.from_code(
            "apply-needs-yes",
            _("the changes of hosts need confirmation, and stdin is not a terminal"),
            _("pass --yes to make the changes, or --dry-run to see them"),
            exit_code=EXIT_USAGE,
        )
    return is_confirmed(question)


def failures(*reports: ChangeReport | None) -> None:
    """Print the failed and skipped hosts of reports with their errors; None is no report."""
    for report in reports:
        for host in report.hosts if report else ():
            if not host.ok:
                show_error(f"{host.host}: {host.error}")
            elif host.left_out:
                show_message(f"{host.host}: {host.left_out}")


def _is_removed(current_file: ClusterFile, names: tuple[str, ...], begun: tuple[str, ...]) -> bool:
    """Return True if the file lists the hosts as absent and no removal of them is unfinished."""
    host_names = {host.name for host in current_file.cluster.hosts()}
    all_names = {name for group in current_file.cluster.nodes.values() for name in group.all_names()}
    return (
        not host_names.intersection(names) and not set(begun).intersection(names) and all_names >= set(names)
    )


def _document(current_file: ClusterFile, proposed_file: ClusterFile, report: ChangeReport) -> object:
    return {
        "file": file_lines(current_file, proposed_file),
        "fields": diff_fields(current_file, proposed_file),
        "drift": drift(report),
    }


def _retry_command(path: Path, group: str, hosts: str) -> str:
    return f"wright add-hosts {group} {hosts} {cluster_option(path)}"
