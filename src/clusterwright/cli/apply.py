"""`wright apply`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._change_plan import MOST_DIFF_LINES, left_out, show_plan
from clusterwright.cli._disruption import DEFAULT_DISRUPTION, DisruptionOptions
from clusterwright.cli._progress import progress
from clusterwright.cli._show import (
    cluster_option,
    is_confirmed,
    show_error,
    show_json,
    show_message,
    show_next,
    show_note,
    show_table,
)
from clusterwright.cli._wrapping import command_text
from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _, _n
from clusterwright.units import QuantityError, human_duration, parse_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.provision.carry import DisruptionPolicy
    from clusterwright.provision.reboot import HealthCheck
    from clusterwright.provision.report import ChangeReport
    from clusterwright.provision.rollback import Listed, Undoable


def apply(
    *,
    cluster: Path | None = None,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    disruption: DisruptionOptions = DEFAULT_DISRUPTION,
    diff: Annotated[bool, Parameter(negative="")] = False,
    timings: Annotated[bool, Parameter(negative="")] = False,
    exit_code: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Apply the cluster file: install, configure and start what differs on the hosts.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    dry_run
        Show every change and its effect on running jobs; change nothing.
    yes
        Do not ask for confirmation.
    diff
        Show how every file changes; by default only if that takes at most 40 lines.
    timings
        Show the time of every step on every host, from the connection to the wait for other hosts.
    exit_code
        Exit with 3 when changes are pending: with --dry-run, or on hosts that were skipped.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._connection import cluster_file, connection_to
    from clusterwright.config.load import load_cluster

    file = cluster_file(cluster)
    spec, most = load_cluster(file), None if diff else MOST_DIFF_LINES
    asking = Asking(yes=yes, quiet=json, disruption=disruption, most_diff_lines=most)
    remote = connection_to(spec)
    policy = read_disruption_policy(disruption, spec, remote)
    report = apply_with_progress("apply", spec, str(file), remote, asking, policy, dry_run=dry_run)
    option = cluster_option(file)
    show(
        report,
        f"wright apply {option}",
        next_command=f"wright check {option}",
        plan_displayed=asking.plan_displayed,
        json=json,
        timings=timings,
        most_diff_lines=most,
    )
    return exit_of(report, exit_code=exit_code)


def apply_with_progress(
    title: str,
    cluster: Cluster,
    source: str,
    remote: Remote,
    asking: Asking,
    policy: DisruptionPolicy,
    *,
    dry_run: bool,
) -> ChangeReport:
    """Apply the cluster file to the hosts and show the progress, except while the user answers.

    Return the report; with `dry_run` nothing changes.
    """
    from clusterwright.provision.apply import apply as apply_to_hosts

    with progress(title, quiet=asking.quiet) as display:
        asking.paused = display.paused
        policy = replace(policy, on_event=display.on_event)
        return apply_to_hosts(cluster, source, remote, dry_run=dry_run, agree=asking, policy=policy)


SHORT_S = 0.005  # the table omits shorter steps


class Asking:
    """Shows the plan and asks for confirmation on a terminal."""

    def __init__(
        self,
        *,
        yes: bool,
        quiet: bool,
        disruption: DisruptionOptions | None = None,
        most_diff_lines: int | None = None,
    ) -> None:
        self.yes, self.quiet, self.disruption, self.plan_displayed = yes, quiet, disruption, False
        self.most_diff_lines = most_diff_lines
        self.paused: Callable[[], AbstractContextManager[None]] = nullcontext  # hides the progress
        self.on_agreed: Callable[[], None] = lambda: None  # called before the changes

    def __call__(self, report: ChangeReport) -> bool:
        """Show the plan, if needed ask, and return True if the changes may be made; then call `on_agreed`."""
        with self.paused():
            agreed = self._agreed(report)
        if agreed:
            self.on_agreed()
        return agreed

    def _agreed(self, report: ChangeReport) -> bool:
        if not self.quiet:
            show_plan(report, self.most_diff_lines)
            if self.disruption is not None:
                _show_disruption(report, self.disruption)
            self.plan_displayed = True
        if self.yes:
            return True
        if not sys.stdin.isatty():
            raise WrightError.from_code(
                "apply-needs-yes",
                _n(
                    "{count} change needs confirmation, and stdin is not a terminal",
                    "{count} changes need confirmation, and stdin is not a terminal",
                    report.pending,
                ),
                _("pass --yes to make the changes, or --dry-run to see them"),
                exit_code=EXIT_USAGE,
            )
        return is_confirmed(_("Make these changes?"))


def _show_disruption(report: ChangeReport, disruption: DisruptionOptions) -> None:
    """Print which hosts are drained, and which rebooted, for their changes; nothing if the options permit neither."""
    from clusterwright.config.names import fold

    due = [host for host in report.hosts if host.ok and host.disturbs and not host.left_out]
    if booted := [host.host for host in due if host.reboots and disruption.reboot]:
        show_note(_("{hosts}: drained, changed, rebooted, checked and resumed", hosts=fold(booted)))
    drained = [host.host for host in due if host.host not in booted]
    if drained and (disruption.drain or disruption.reboot):
        show_note(_("{hosts}: drained, changed and resumed", hosts=fold(drained)))


def show(
    report: ChangeReport,
    retry_command: str,
    *,
    next_command: str,
    plan_displayed: bool,
    json: bool,
    timings: bool = False,
    most_diff_lines: int | None = None,
) -> None:
    """Print the result of an apply: plan, failures by host, counts, timings if requested, and the next command.

    With `json` only the report.
    """
    report = report if timings else report.without_timings()
    if json:
        show_json(report)
        return
    if not plan_displayed:
        show_plan(report, most_diff_lines)
    for hosts, error in folded_errors(report, reached=False):
        show_error(_("unreachable: {hosts}: {error}", hosts=hosts, error=error))
    for hosts, error in folded_errors(report, reached=True):
        show_error(_("failed: {hosts}: {error}", hosts=hosts, error=error))
    for hosts, reason in left_out(report) if not report.dry else ():
        show_message(_("skipped: {hosts}: {reason}", hosts=hosts, reason=reason))
    show_message(_counts(report))
    show_timings(report)
    if not report.ok:
        command = command_text(retry_command + " --dry-run" * report.dry)
        show_message(_("next: fix the errors above, then run: {command}", command=command))
    else:
        show_next(retry_command if (report.dry and report.pending) or report.left_out else next_command)


def _counts(report: ChangeReport) -> str:
    reached, hosts = sum(host.ok and host.reached for host in report.hosts), len(report.hosts)
    duration = human_duration(report.seconds)
    if report.dry and report.pending:
        return _(
            "pending changes: {changes}; hosts: {reached} of {hosts}; time: {duration}",
            changes=report.pending,
            reached=reached,
            hosts=hosts,
            duration=duration,
        )
    return _(
        "changes: {changes}; restarts: {restarts}; hosts: {reached} of {hosts}; time: {duration}",
        changes=report.changed,
        restarts=report.restarts,
        reached=reached,
        hosts=hosts,
        duration=duration,
    )


def show_timings(report: ChangeReport) -> None:
    """Print the report's timings of at least SHORT_S by host, phase and step; nothing without any."""
    rows = [
        (host.host, timing.phase, timing.step, f"{timing.seconds:.2f}")
        for host in report.hosts
        for timing in host.timings
        if timing.seconds >= SHORT_S
    ]
    if rows:
        show_table(("host", "phase", "step", "seconds"), rows)


def exit_of(report: ChangeReport, *, exit_code: bool) -> int:
    """Return the exit code of a report: EXIT_FAILED, EXIT_CHANGES_PENDING (only with `exit_code`) or EXIT_OK.

    Changes are pending if some were left out, or if a dry run has any.
    """
    if not report.ok:
        return EXIT_FAILED
    pending = report.left_out or (report.dry and report.pending)
    return EXIT_CHANGES_PENDING if exit_code and pending else EXIT_OK


def read_disruption_policy(
    disruption: DisruptionOptions, cluster: Cluster, remote: Remote
) -> DisruptionPolicy:
    """Return how an apply may disrupt jobs, by the options as typed.

    Raises:
        WrightError: --wait is not a duration.
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
    """Print the applies that can be rolled back, newest first, and the errors of hosts that failed to list theirs.

    Return EXIT_FAILED if a host failed, else EXIT_OK.
    """
    if json:
        show_json(listed.applies)
    else:
        rows = [(entry.when, _about(entry), entry.hosts, str(entry.changed)) for entry in listed.applies]
        show_table(("apply (UTC)", "command", "hosts", "changes"), rows)
    for host in listed.failed:
        show_error(
            _("failed: {hosts}: {error}", hosts=host.host, error=host.error)
            if host.reached
            else _("unreachable: {hosts}: {error}", hosts=host.host, error=host.error)
        )
    return EXIT_FAILED if listed.failed else EXIT_OK


def _about(entry: Undoable) -> str:
    return (
        _("rollback to before {apply}", apply=entry.to)
        if entry.to
        else _("apply of {file}", file=entry.source)
    )


def folded_errors(report: ChangeReport, *, reached: bool) -> list[tuple[str, str]]:
    """Return (hostlist, error) of failed hosts; errors that differ only in the host's name count as the same."""
    from clusterwright.config.names import fold

    hosts_by_error: dict[str, list[str]] = {}
    for host in report.hosts:
        if host.error and host.reached is reached:
            hosts_by_error.setdefault(host.error.replace(host.host, "HOST"), []).append(host.host)
    return [(fold(hosts), error.replace("HOST", hosts[0])) for error, hosts in hosts_by_error.items()]


def boot_checker(cluster: Cluster, remote: Remote) -> HealthCheck:
    """Return a function that runs the `boot` checks on hosts and returns the problems by host.

    Problems are the verdicts `fail` and `unknown`; hosts without one are not in the result.
    """
    from clusterwright.check.runner import run
    from clusterwright.check.verdict import Status

    def wrong(hosts: tuple[str, ...]) -> Mapping[str, str]:
        problems: dict[str, list[str]] = {}
        for verdict in run(cluster, remote, hosts=hosts, on="boot"):
            if verdict.status in (Status.FAIL, Status.UNKNOWN) and verdict.subject in hosts:
                problems.setdefault(verdict.subject, []).append(
                    _(
                        "{check}: observed {observed}, expected {expected}",
                        check=verdict.check,
                        observed=verdict.observed,
                        expected=verdict.expected,
                    )
                )
        return {
            host: _("after the reboot: {problems}", problems="; ".join(texts))
            for host, texts in problems.items()
        }

    return wrong
