"""The plan of an apply as text: what it costs first, then the changes, folded over hosts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clusterwright.cli._show import show_message, show_note
from clusterwright.cli._wrapping import wrap_for_terminal
from clusterwright.i18n import _, _n
from clusterwright.onhost.lib.clean_text import clean, unfiltered

if TYPE_CHECKING:
    from clusterwright.provision.action import Action
    from clusterwright.provision.report import ChangeReport

MOST_DIFF_LINES = 40  # a longer list of differences hides the changes themselves
FEW = 3  # more new files of one folder are shown as a count


def show_plan(report: ChangeReport, most_diff_lines: int | None = None) -> None:
    """Print counts, then one entry per distinct change with its hosts, cost and diff, then notes and skipped hosts.

    Diffs of more than `most_diff_lines` lines together are counted instead; None: no limit. New files have no diff.
    """
    from clusterwright.config.names import fold

    if report.pending:
        show_message(_impact(report))
    actions = report.actions()
    diff_count = sum(len(_diff_lines(action)) for action in actions)
    with_diffs = most_diff_lines is None or diff_count <= most_diff_lines
    output = unfiltered(sys.stdout)
    for line in plan_lines(actions, with_diffs=with_diffs):
        is_diff = line.startswith("    ")
        output.write(f"{_colored(clean(line)) if is_diff else wrap_for_terminal(clean(line), output)}\n")
    output.flush()
    if not with_diffs:
        show_note(_("{count} lines of differences are not shown; --diff shows them", count=diff_count))
    for hosts, note in report.notes():
        show_note(f"{hosts}: {note}")
    for hosts, reason in left_out(report):
        show_message(_("skipped: {hosts}: {reason}", hosts=hosts, reason=reason))
    for host in report.hosts:
        if host.owes and not host.left_out:
            show_note(
                _("{host}: a reboot is pending for {changes}", host=host.host, changes=", ".join(host.owes))
            )
    if interrupted := fold([host.host for host in report.hosts if host.interrupted]):
        show_note(
            _(
                "{hosts}: an earlier apply was interrupted; this plan includes its remaining changes",
                hosts=interrupted,
            )
        )


def _impact(report: ChangeReport) -> str:
    """Return one line of text: the numbers of hosts, changes, restarts and reboots of a plan, and affected jobs."""
    from clusterwright.config.names import fold
    from clusterwright.onhost.provision.change import Verb

    due = [host for host in report.hosts if host.changes and not host.left_out]
    restarts = sum(Verb.RESTART in change.verbs for host in due for change in host.changes)
    reboots = sum(host.reboots for host in due)
    changes = sum(len(host.changes) for host in due)
    parts = [
        _n("{count} host", "{count} hosts", len(due)),
        _n("{count} change", "{count} changes", changes),
        *([_n("{count} restart", "{count} restarts", restarts)] if restarts else []),
        *([_n("{count} reboot", "{count} reboots", reboots)] if reboots else []),
    ]
    affected = [host.host for host in due if host.job_steps and host.disturbs]
    parts.append(
        _("jobs on {hosts} are affected", hosts=fold(affected)) if affected else _("no job affected")
    )
    return ", ".join(parts)


def _diff_lines(action: Action) -> list[str]:
    """Return the indented lines of an action's diff without its header; none for the library, which is code."""
    from clusterwright.provision.roles.training import LIBRARY

    if action.id.startswith(f"file:{LIBRARY}/"):
        return []
    return [f"    {line}" for line in action.diff.splitlines() if not line.startswith(("--- ", "+++ "))]


def _colored(line: str) -> str:
    """Return a line of the plan, in color if it is an added or removed line and stdout is a terminal with colors."""
    color = {"    +": "\x1b[32m", "    -": "\x1b[31m"}.get(line[:5])
    if not color or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return line
    return f"{color}{line}\x1b[0m"


def plan_lines(actions: Iterable[Action], *, with_diffs: bool = True) -> list[str]:
    """Return the lines of a plan: each action, and its diff; more than FEW new files of a folder are one line.

    New files and all files of our library have no diff, others only `with_diffs`; the cost is omitted if the change
    is live.
    """
    from clusterwright.config.field import Cost
    from clusterwright.onhost.provision.change import Verb
    from clusterwright.provision.roles.training import LIBRARY

    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for action in actions:
        ours = action.id.startswith(f"file:{LIBRARY}/")  # code: its diff is of no interest here
        if ours or (Verb.CREATE in action.verbs and action.id.startswith("file:")):
            folder = action.id.rpartition("/")[0]
            new.setdefault((action.hosts, folder, action.summary), []).append(action.id)
            continue
        cost = "" if action.cost is Cost.LIVE else f"  [{action.cost}]"
        lines.append(f"{action.hosts}: {action.id}: {action.summary}{cost}")
        lines += _diff_lines(action) if with_diffs else []
    for (hosts, folder, description), names in new.items():
        labels = (
            names if len(names) <= FEW else [_("{folder}/: {count} files", folder=folder, count=len(names))]
        )
        lines += [f"{hosts}: {name}: {description}" for name in labels]
    return lines


def left_out(report: ChangeReport) -> list[tuple[str, str]]:
    """Return (hostlist, reason) of the skipped hosts, one pair for each reason; empty if no host is skipped."""
    from clusterwright.config.names import fold

    hosts_by_reason: dict[str, list[str]] = {}
    for host in report.left_out:
        hosts_by_reason.setdefault(host.left_out, []).append(host.host)
    return [(fold(hosts), reason) for reason, hosts in hosts_by_reason.items()]
