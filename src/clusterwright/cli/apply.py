"""`wright apply CLUSTER`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._disruption import USUALLY, Gently
from clusterwright.cli._show import say, show_json, show_table
from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError
from clusterwright.units import QuantityError, parse_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.provision.action import Action
    from clusterwright.provision.carry import Care
    from clusterwright.provision.reboot import Look
    from clusterwright.provision.report import Report
    from clusterwright.provision.rollback import Listed, Undoable


def apply(
    cluster: Path,
    /,
    *,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    gently: Gently = USUALLY,
    timings: Annotated[bool, Parameter(negative="")] = False,
    exit_code: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Make the hosts what the cluster file says.

    Parameters
    ----------
    cluster
        The cluster file.
    dry_run
        Show every change and what it costs running jobs; change nothing.
    yes
        Do not ask.
    gently
        How gently hosts are changed.
    timings
        Show where the time went, host by host and step by step, from the connection to the wait for other hosts.
    exit_code
        Exit with 3 when changes are pending: with --dry-run, or on hosts that were left out.
    json
        One JSON document on stdout.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.provision.apply import apply as run
    from clusterwright.provision.apply import remote_of

    spec = load_cluster(cluster)
    asking = Asking(yes=yes, quiet=json, gently=gently)
    remote = remote_of(spec)
    care = care_of(gently, spec, remote)
    report = run(spec, str(cluster), remote, dry_run=dry_run, agree=asking, care=care)
    again = f"wright apply {cluster}"
    show(report, again, after=f"wright check {cluster}", shown=asking.shown, json=json, timings=timings)
    return exit_of(report, exit_code=exit_code)


SHORT_S = 0.005  # a step that took less is left out of the table
FEW = 3  # so many files of one folder are named one by one, more are counted


class Asking:
    """Shows the plan, and asks where somebody can answer."""

    def __init__(self, *, yes: bool, quiet: bool, gently: Gently | None = None) -> None:
        self.yes, self.quiet, self.gently, self.shown = yes, quiet, gently, False

    def __call__(self, report: Report) -> bool:
        """True when the changes may be made."""
        if not self.quiet:
            show_plan(report)
            if self.gently is not None:
                _say_how(report, self.gently)
            self.shown = True
        if self.yes:
            return True
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


def _say_how(report: Report, gently: Gently) -> None:
    """What is done with hosts whose change wants them without jobs."""
    from clusterwright.config.names import fold

    due = [host for host in report.hosts if host.ok and host.disturbs and not host.left_out]
    if booted := [host.host for host in due if host.reboots and gently.reboot]:
        say(f"note: {fold(booted)}: drained first, rebooted and checked after the change, and given back")
    drained = [host.host for host in due if host.host not in booted]
    if drained and (gently.drain or gently.reboot):
        say(f"note: {fold(drained)}: drained first, and given back after the change")


def show_plan(report: Report) -> None:
    """One entry per distinct change, with its hosts, its cost, and its diff (new files: `wright render`)."""
    from clusterwright.config.names import fold

    for line in plan_lines(report.actions()):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for hosts, note in report.notes():
        say(f"note: {hosts}: {note}")
    for hosts, words in _left_out(report):
        say(f"left out: {hosts}: {words}")
    for host in report.hosts:
        if host.owes and not host.left_out:
            say(f"note: {host.host}: waits for a reboot, for {', '.join(host.owes)}")
    if cut := fold([host.host for host in report.hosts if host.interrupted]):
        say(f"note: {cut}: an earlier apply was cut short; what it owed is part of this plan")


def plan_lines(actions: Iterable[Action]) -> list[str]:
    """The plan as text; many files of one folder are one line."""
    from clusterwright.config.field import Cost
    from clusterwright.onhost.provision.change import Verb
    from clusterwright.provision.roles.training import LIBRARY

    lines: list[str] = []
    new: dict[tuple[str, str, str], list[str]] = {}
    for action in actions:
        ours = action.id.startswith(f"file:{LIBRARY}/")  # code: its diff is for those who wrote it
        if ours or (Verb.CREATE in action.verbs and action.id.startswith("file:")):
            folder = action.id.rpartition("/")[0]
            new.setdefault((action.hosts, folder, action.what), []).append(action.id)
            continue
        cost = "" if action.cost is Cost.LIVE else f"  [{action.cost}]"
        lines.append(f"{action.hosts}: {action.id}: {action.what}{cost}")
        lines += [f"    {line}" for line in action.diff.splitlines() if not line.startswith(("--- ", "+++ "))]
    for (hosts, folder, what), names in new.items():
        shown = names if len(names) <= FEW else [f"{folder}/: {len(names)} files"]
        lines += [f"{hosts}: {name}: {what}" for name in shown]
    return lines


def show(report: Report, again: str, *, after: str, shown: bool, json: bool, timings: bool = False) -> None:
    """The outcome: what failed where, the counts, where the time went if asked, and what to do next."""
    report = report if timings else report.without_timings()
    if json:
        show_json(report)
        return
    if not shown:
        show_plan(report)
    for hosts, words in _folded(report, reached=False):
        say(f"unreachable: {hosts}: {words}")
    for hosts, words in _folded(report, reached=True):
        say(f"failed: {hosts}: {words}")
    for hosts, words in _left_out(report) if not report.dry else ():
        say(f"left out: {hosts}: {words}")
    counts = f"{report.changed} changes, {report.restarts} restarts"
    if report.dry and report.pending:
        counts = f"{report.pending} changes pending"
    reached = sum(host.ok and host.reached for host in report.hosts)
    say(f"{counts}; {reached} of {len(report.hosts)} hosts; {report.seconds:.1f} s")
    show_timings(report)
    if not report.ok:
        say(f"next: mend what is said above, then again: {again}")
    else:
        say(f"next: {again if (report.dry and report.pending) or report.left_out else after}")


def show_timings(report: Report) -> None:
    """Where the time went; hosts without timings have no rows."""
    rows = [
        (host.host, one.phase, one.step, f"{one.seconds:.2f}")
        for host in report.hosts
        for one in host.timings
        if one.seconds >= SHORT_S
    ]
    if rows:
        show_table(("host", "phase", "step", "seconds"), rows)


def exit_of(report: Report, *, exit_code: bool) -> int:
    """The command's exit code: failed, pending where that was asked for, or done."""
    if not report.ok:
        return EXIT_FAILED
    pending = report.left_out or (report.dry and report.pending)
    return EXIT_CHANGES_PENDING if exit_code and pending else EXIT_DONE


def care_of(gently: Gently, cluster: Cluster, remote: Remote) -> Care:
    """How gently, from the options as they were typed.

    Raises:
        WrightError: the time has no unit.
    """
    from clusterwright.provision.carry import Care

    try:
        wait_s = parse_duration(gently.wait)
    except QuantityError as why:
        raise WrightError.of(
            "bad-quantity", f"--wait: {why.message}", why.mend, exit_code=EXIT_USAGE
        ) from why
    if not gently.reboot:
        return Care(batch=gently.batch, drain=gently.drain, wait_s=wait_s, say=say)

    return Care(batch=gently.batch, reboot=True, look=look(cluster, remote), wait_s=wait_s, say=say)


def show_undoable(listed: Listed, *, json: bool) -> int:
    """The applies that can be undone, the newest first."""
    if json:
        show_json(listed.applies)
    else:
        rows = [(one.when, _about(one), one.hosts, str(one.changed)) for one in listed.applies]
        show_table(("apply (UTC)", "what", "hosts", "kept"), rows)
    for host in listed.failed:
        say(f"{'failed' if host.reached else 'unreachable'}: {host.host}: {host.error}")
    return EXIT_FAILED if listed.failed else EXIT_DONE


def _about(one: Undoable) -> str:
    return f"rollback to before {one.to}" if one.to else f"apply of {one.source}"


def _left_out(report: Report) -> list[tuple[str, str]]:
    """The same reason of several hosts once."""
    from clusterwright.config.names import fold

    found: dict[str, list[str]] = {}
    for host in report.left_out:
        found.setdefault(host.left_out, []).append(host.host)
    return [(fold(hosts), words) for words, hosts in found.items()]


def _folded(report: Report, *, reached: bool) -> list[tuple[str, str]]:
    """The same words of several hosts once; a host's own name in them does not keep them apart."""
    from clusterwright.config.names import fold

    found: dict[str, list[str]] = {}
    for host in report.hosts:
        if host.error and host.reached is reached:
            found.setdefault(host.error.replace(host.host, "HOST"), []).append(host.host)
    return [(fold(hosts), words.replace("HOST", hosts[0])) for words, hosts in found.items()]


def look(cluster: Cluster, remote: Remote) -> Look:
    """The checks of the occasion `boot`; what fails or cannot be seen is named, by host."""
    from clusterwright.check.runner import run
    from clusterwright.check.verdict import Status

    def wrong(hosts: tuple[str, ...]) -> Mapping[str, str]:
        found: dict[str, list[str]] = {}
        for one in run(cluster, remote, hosts=hosts, on="boot"):
            if one.status in (Status.FAIL, Status.UNKNOWN) and one.subject in hosts:
                found.setdefault(one.subject, []).append(f"{one.check}: {one.saw}, wanted {one.want}")
        return {host: f"after its reboot, {'; '.join(words)}" for host, words in found.items()}

    return wrong
