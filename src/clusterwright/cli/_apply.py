"""How an apply is shown and asked for."""

from __future__ import annotations

import sys

from clusterwright.build.report import Report
from clusterwright.cli._show import say
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.spec.field import Cost


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
                f"jobs run on {', '.join(hosts)}, and a change there wants the host drained",
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
    """One entry per distinct change, with its hosts, its cost, and its diff."""
    for action in report.actions():
        cost = "" if action.cost is Cost.LIVE else f"  [{action.cost}]"
        sys.stdout.write(f"{action.hosts}: {action.what}: {action.why}{cost}\n")
        sys.stdout.write("".join(f"    {line}\n" for line in action.diff.splitlines()[2:]))
    sys.stdout.flush()
    for hosts, note in report.notes():
        say(f"note: {hosts}: {note}")
    for host in report.hosts:
        if host.interrupted:
            say(f"note: {host.host}: an earlier apply was cut short; what it owed is part of this plan")


def show(report: Report, file: str, *, shown: bool) -> None:
    """The outcome: what failed where, the counts, and what to do next."""
    if not shown:
        show_plan(report)
    for host in report.hosts:
        if not host.reached:
            say(f"unreachable: {host.host}: {host.error}")
        elif host.error:
            say(f"failed: {host.host}: {host.error}")
    left = report.pending - report.changed
    done = (
        f"{report.changed} changes, {report.restarts} restarts"
        if not report.dry
        else f"{report.pending} changes pending"
    )
    reached = sum(host.ok for host in report.hosts)
    say(
        f"{done if report.pending else '0 changes, 0 restarts'}; {reached} of {len(report.hosts)} hosts; {report.seconds:.1f} s"
    )
    if not report.ok:
        say(f"next: mend what is said above, then again: wright apply {file}")
    elif report.dry and left:
        say(f"next: wright apply {file}")
    else:
        say(f"next: wright check {file}")
