"""How an apply is shown and asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from clusterwright.build.action import Action
from clusterwright.build.report import Report
from clusterwright.build.roles.training import LIBRARY
from clusterwright.cli._show import say
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.spec.field import Cost
from clusterwright.spec.names import fold

FEW = 3  # so many files of one folder are named one by one, more are counted


class Asking:
    """Shows the plan, and asks where somebody can answer; a change that wants a drain needs --yes."""

    def __init__(self, *, yes: bool, quiet: bool) -> None:
        self.yes, self.quiet, self.shown = yes, quiet, False

    def __call__(self, report: Report) -> bool:
        """True when the changes may be made."""
        if not self.quiet:
            show_plan(report)
            self.shown = True
        if self.yes:
            return True
        if hosts := report.draining():
            raise WrightError.of(
                "apply-needs-drain",
                f"jobs run on {fold(hosts)}, and a change there wants the host drained",
                "drain the hosts first, or pass --yes to go on all the same",
                exit_code=EXIT_USAGE,
            )
        if not sys.stdin.isatty():
            raise WrightError.of(
                "apply-needs-yes",
                f"{report.pending} changes are pending, and there is no terminal to ask at",
                "pass --yes to make them, or --dry-run to see them",
                exit_code=EXIT_USAGE,
            )
        sys.stderr.write("Make these changes? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}


def show_plan(report: Report) -> None:
    """One entry per distinct change, with its hosts, its cost, and its diff (new files: `wright render`)."""
    for line in plan_lines(report.actions()):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for hosts, note in report.notes():
        say(f"note: {hosts}: {note}")
    if cut := fold([host.host for host in report.hosts if host.interrupted]):
        say(f"note: {cut}: an earlier apply was cut short; what it owed is part of this plan")


def plan_lines(actions: Iterable[Action]) -> list[str]:
    """The plan as text; many files of one folder are one line."""
    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for action in actions:
        ours = action.what.startswith(f"file:{LIBRARY}/")  # code: its diff is for those who wrote it
        if ours or (action.why == "create" and action.what.startswith("file:")):
            folder = action.what.rpartition("/")[0]
            new.setdefault((action.hosts, folder, action.why), []).append(action.what)
            continue
        cost = "" if action.cost is Cost.LIVE else f"  [{action.cost}]"
        lines.append(f"{action.hosts}: {action.what}: {action.why}{cost}")
        lines += [f"    {line}" for line in action.diff.splitlines() if not line.startswith(("--- ", "+++ "))]
    for (hosts, folder, why), names in new.items():
        shown = names if len(names) <= FEW else [f"{folder}/: {len(names)} files"]
        lines += [f"{hosts}: {name}: {why}" for name in shown]
    return lines


def show(report: Report, file: str, *, shown: bool) -> None:
    """The outcome: what failed where, the counts, and what to do next."""
    if not shown:
        show_plan(report)
    for hosts, words in _folded(report, reached=False):
        say(f"unreachable: {hosts}: {words}")
    for hosts, words in _folded(report, reached=True):
        say(f"failed: {hosts}: {words}")
    counts = f"{report.changed} changes, {report.restarts} restarts"
    if report.dry and report.pending:
        counts = f"{report.pending} changes pending"
    reached = sum(host.ok for host in report.hosts)
    say(f"{counts}; {reached} of {len(report.hosts)} hosts; {report.seconds:.1f} s")
    if not report.ok:
        say(f"next: mend what is said above, then again: wright apply {file}")
    else:
        say(f"next: wright {'apply' if report.dry and report.pending else 'check'} {file}")


def _folded(report: Report, *, reached: bool) -> list[tuple[str, str]]:
    """The same words of several hosts once; a host's own name in them does not keep them apart."""
    found: dict[str, list[str]] = {}
    for host in report.hosts:
        if host.error and host.reached is reached:
            found.setdefault(host.error.replace(host.host, "HOST"), []).append(host.host)
    return [(fold(hosts), words.replace("HOST", hosts[0])) for words, hosts in found.items()]
