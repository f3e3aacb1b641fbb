"""`wright apply CLUSTER`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._disruption import USUALLY, DisruptionOptions
from clusterwright.cli._show import show_json, show_message, show_table
from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import QuantityError, parse_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.provision.action import Action
    from clusterwright.provision.carry import DisruptionPolicy
    from clusterwright.provision.reboot import HealthCheck
    from clusterwright.provision.report import Report
    from clusterwright.provision.rollback import Listed, Undoable


def apply(
    cluster: Path,
    /,
    *,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    disruption: DisruptionOptions = USUALLY,
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
    disruption
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
    asking = Asking(yes=yes, quiet=json, disruption=disruption)
    remote = remote_of(spec)
    disruption_policy = read_disruption_policy(disruption, spec, remote)
    report = run(spec, str(cluster), remote, dry_run=dry_run, agree=asking, policy=disruption_policy)
    retry_command = f"wright apply {cluster}"
    show(
        report,
        retry_command,
        next_command=f"wright check {cluster}",
        plan_displayed=asking.plan_displayed,
        json=json,
        timings=timings,
    )
    return exit_of(report, exit_code=exit_code)


SHORT_S = 0.005  # a step that took less is left out of the table
FEW = 3  # so many files of one folder are named one by one, more are counted


class Asking:
    """Shows the plan, and asks where somebody can answer."""

    def __init__(self, *, yes: bool, quiet: bool, disruption: DisruptionOptions | None = None) -> None:
        self.yes, self.quiet, self.disruption, self.plan_displayed = yes, quiet, disruption, False

    def __call__(self, report: Report) -> bool:
        """True when the changes may be made."""
        if not self.quiet:
            show_plan(report)
            if self.disruption is not None:
                _show_disruption(report, self.disruption)
            self.plan_displayed = True
        if self.yes:
            return True
        if not sys.stdin.isatty():
            raise WrightError.from_code(
                "apply-needs-yes",
                _(
                    "{pending} changes are pending, and there is no terminal to ask at",
                    pending=report.pending,
                ),
                "pass --yes to make them, or --dry-run to see them",
                exit_code=EXIT_USAGE,
            )
        sys.stderr.write("Make these changes? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _show_disruption(report: Report, disruption: DisruptionOptions) -> None:
    """What is done with hosts whose change wants them without jobs."""
    from clusterwright.config.names import fold

    due = [host for host in report.hosts if host.ok and host.disturbs and not host.left_out]
    if booted := [host.host for host in due if host.reboots and disruption.reboot]:
        show_message(
            _(
                "note: {fold}: drained first, rebooted and checked after the change, and given back",
                fold=fold(booted),
            )
        )
    drained = [host.host for host in due if host.host not in booted]
    if drained and (disruption.drain or disruption.reboot):
        show_message(_("note: {fold}: drained first, and given back after the change", fold=fold(drained)))


def show_plan(report: Report) -> None:
    """One entry per distinct change, with its hosts, its cost, and its diff (new files: `wright render`)."""
    from clusterwright.config.names import fold

    for line in plan_lines(report.actions()):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    for hosts, note in report.notes():
        show_message(f"note: {hosts}: {note}")
    for hosts, reason in _left_out(report):
        show_message(_("left out: {hosts}: {reason}", hosts=hosts, reason=reason))
    for host in report.hosts:
        if host.owes and not host.left_out:
            show_message(
                _("note: {host}: waits for a reboot, for {owes}", host=host.host, owes=", ".join(host.owes))
            )
    if interrupted_hosts := fold([host.host for host in report.hosts if host.interrupted]):
        show_message(
            _(
                "note: {interrupted_hosts}: an earlier apply was cut short; what it owed is part of "
                "this plan",
                interrupted_hosts=interrupted_hosts,
            )
        )


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
    for (hosts, folder, description), names in new.items():
        labels = names if len(names) <= FEW else [f"{folder}/: {len(names)} files"]
        lines += [f"{hosts}: {name}: {description}" for name in labels]
    return lines


def show(
    report: Report,
    retry_command: str,
    *,
    next_command: str,
    plan_displayed: bool,
    json: bool,
    timings: bool = False,
) -> None:
    """The outcome: what failed where, the counts, where the time went if asked, and what to do next."""
    report = report if timings else report.without_timings()
    if json:
        show_json(report)
        return
    if not plan_displayed:
        show_plan(report)
    for hosts, error in _folded(report, reached=False):
        show_message(f"unreachable: {hosts}: {error}")
    for hosts, error in _folded(report, reached=True):
        show_message(f"failed: {hosts}: {error}")
    for hosts, error in _left_out(report) if not report.dry else ():
        show_message(_("left out: {hosts}: {error}", hosts=hosts, error=error))
    counts = f"{report.changed} changes, {report.restarts} restarts"
    if report.dry and report.pending:
        counts = f"{report.pending} changes pending"
    reached = sum(host.ok and host.reached for host in report.hosts)
    show_message(
        _(
            "{counts}; {reached} of {count} hosts; {seconds:.1f} s",
            counts=counts,
            reached=reached,
            count=len(report.hosts),
            seconds=report.seconds,
        )
    )
    show_timings(report)
    if not report.ok:
        show_message(
            _("next: fix what is said above, then again: {retry_command}", retry_command=retry_command)
        )
    else:
        show_message(
            f"next: {retry_command if (report.dry and report.pending) or report.left_out else next_command}"
        )


def show_timings(report: Report) -> None:
    """Where the time went; hosts without timings have no rows."""
    rows = [
        (host.host, timing.phase, timing.step, f"{timing.seconds:.2f}")
        for host in report.hosts
        for timing in host.timings
        if timing.seconds >= SHORT_S
    ]
    if rows:
        show_table(("host", "phase", "step", "seconds"), rows)


def exit_of(report: Report, *, exit_code: bool) -> int:
    """The command's exit code: failed, pending where that was asked for, or done."""
    if not report.ok:
        return EXIT_FAILED
    pending = report.left_out or (report.dry and report.pending)
    return EXIT_CHANGES_PENDING if exit_code and pending else EXIT_OK


def read_disruption_policy(
    disruption: DisruptionOptions, cluster: Cluster, remote: Remote
) -> DisruptionPolicy:
    """How gently, from the options as they were typed.

    Raises:
        WrightError: the time has no unit.
    """
    from clusterwright.provision.carry import DisruptionPolicy

    try:
        wait_s = parse_duration(disruption.wait)
    except QuantityError as error:
        raise WrightError.from_code(
            "bad-quantity", f"--wait: {error.message}", error.fix, exit_code=EXIT_USAGE
        ) from error
    if not disruption.reboot:
        return DisruptionPolicy(
            batch=disruption.batch, drain=disruption.drain, wait_s=wait_s, on_progress=show_message
        )

    return DisruptionPolicy(
        batch=disruption.batch,
        reboot=True,
        health_check=boot_checker(cluster, remote),
        wait_s=wait_s,
        on_progress=show_message,
    )


def show_undoable(listed: Listed, *, json: bool) -> int:
    """The applies that can be undone, the newest first."""
    if json:
        show_json(listed.applies)
    else:
        rows = [(entry.when, _about(entry), entry.hosts, str(entry.changed)) for entry in listed.applies]
        show_table(("apply (UTC)", "what", "hosts", "kept"), rows)
    for host in listed.failed:
        show_message(f"{'failed' if host.reached else 'unreachable'}: {host.host}: {host.error}")
    return EXIT_FAILED if listed.failed else EXIT_OK


def _about(entry: Undoable) -> str:
    return f"rollback to before {entry.to}" if entry.to else f"apply of {entry.source}"


def _left_out(report: Report) -> list[tuple[str, str]]:
    """The same reason of several hosts once."""
    from clusterwright.config.names import fold

    hosts_by_reason: dict[str, list[str]] = {}
    for host in report.left_out:
        hosts_by_reason.setdefault(host.left_out, []).append(host.host)
    return [(fold(hosts), reason) for reason, hosts in hosts_by_reason.items()]


def _folded(report: Report, *, reached: bool) -> list[tuple[str, str]]:
    """The same words of several hosts once; a host's own name in them does not keep them apart."""
    from clusterwright.config.names import fold

    hosts_by_error: dict[str, list[str]] = {}
    for host in report.hosts:
        if host.error and host.reached is reached:
            hosts_by_error.setdefault(host.error.replace(host.host, "HOST"), []).append(host.host)
    return [(fold(hosts), error.replace("HOST", hosts[0])) for error, hosts in hosts_by_error.items()]


def boot_checker(cluster: Cluster, remote: Remote) -> HealthCheck:
    """The checks of the occasion `boot`; what fails or cannot be seen is named, by host."""
    from clusterwright.check.runner import run
    from clusterwright.check.verdict import Status

    def wrong(hosts: tuple[str, ...]) -> Mapping[str, str]:
        problems: dict[str, list[str]] = {}
        for verdict in run(cluster, remote, hosts=hosts, on="boot"):
            if verdict.status in (Status.FAIL, Status.UNKNOWN) and verdict.subject in hosts:
                problems.setdefault(verdict.subject, []).append(
                    f"{verdict.check}: {verdict.observed}, wanted {verdict.expected}"
                )
        return {
            host: f"after its reboot, {'; '.join(host_problems)}" for host, host_problems in problems.items()
        }

    return wrong
