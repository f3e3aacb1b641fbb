"""Check hosts, ask for consent, and make changes batch by batch; a change that fails stops later batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.edge.progress import Listener, announce, ignore, reporting
from clusterwright.edge.ssh import fan_out
from clusterwright.i18n import N_, _
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.batches import batch_size, plan_batches
from clusterwright.provision.drain import Drains, ProgressCallback
from clusterwright.provision.lockout import prevent_lockout
from clusterwright.provision.reboot import BOOT_S, HealthCheck, Reboots, nothing_wrong
from clusterwright.provision.report import ChangeReport, HostReport, Timing
from clusterwright.provision.work import HostWork
from clusterwright.units import HOUR_S, human_duration

CLOCK_LIMIT_S = (
    300  # munge(7): a credential is valid for 300 s by default, so a larger offset makes all invalid
)

Agree = Callable[[ChangeReport], bool]


@dataclass(frozen=True, slots=True)
class DisruptionPolicy:
    """How much an apply may disturb running jobs.

    `batch` is the size of a batch (`4`, `25%`). `drain` drains hosts whose changes require it and waits up to `wait_s`
    in all for their jobs. `reboot` also reboots hosts whose changes require it (timeout `boot_s`), after which
    `health_check` must find no fault. `on_progress` receives progress lines, `on_event` what runs on each host.
    """

    batch: str = ""
    drain: bool = False
    reboot: bool = False
    health_check: HealthCheck = nothing_wrong
    boot_s: float = BOOT_S
    wait_s: float = HOUR_S
    on_progress: ProgressCallback = lambda _message: None
    on_event: Listener = ignore

    @property
    def empties(self) -> bool:
        """Return True if hosts may be drained, which both `drain` and `reboot` permit."""
        return self.drain or self.reboot


def carry_out(
    work: HostWork,
    hosts: Iterable[str],
    *,
    policy: DisruptionPolicy,
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
) -> ChangeReport:
    """Check every host and, if `agree` accepts the report, make the changes in batches; return the final report."""
    started = work.clock.monotonic()
    batch_size(policy.batch, 1)  # refused before any host is checked
    drains = Drains(work.cluster, work.remote, work.clock, policy.wait_s, policy.on_progress, work.when)
    check_reports = _waited(
        work,
        hosts,
        lambda host: prevent_lockout(work.cluster, work.run_agent(host, "check")),
        _("comparing with the cluster file"),
    )
    host_reports = _left_out(check_reports, drains, policy)
    preview = {host: _clock(report, final=False) for host, report in host_reports.items()}
    report = _report(work, preview, started, dry=True)
    to_do = report.to_do()
    confirmation_began = work.clock.monotonic()
    if dry_run or (to_do and not agree(report)):
        return report
    started += (
        work.clock.monotonic() - confirmation_began
    )  # the time of a person's answer is no time of the apply
    batches = plan_batches(work.cluster, to_do, policy.batch)
    announce(to_do, work.on_event)
    operator_drained = (
        drains.operator_drained()
        if any(_new_slurmd(host_report) for host_report in to_do.values())
        else frozenset()
    )
    for index, batch in enumerate(batches):
        host_reports.update(
            _settled(_batch(work, host_reports, batch, drains, policy), drains, operator_drained)
        )
        if bad := [
            name for name in batch if host_reports[name].error and host_reports[name].fault_domain == "change"
        ]:
            later = [name for names in batches[index + 1 :] for name in names]
            reason = _("not started, because the change failed on {hosts}", hosts=fold(bad))
            host_reports.update({name: replace(host_reports[name], left_out=reason) for name in later})
            break
    if policy.empties:
        _resume_hosts(host_reports, drains, host_reports)
    host_reports = {host: _clock(host_report, final=True) for host, host_report in host_reports.items()}
    return _report(work, host_reports, started, dry=not to_do)


def _waited(
    work: HostWork, hosts: Iterable[str], query: Callable[[str], HostReport], doing: str
) -> dict[str, HostReport]:
    """Run `query` on all hosts in parallel and return the reports, with the wait for the slowest host in timings.

    `doing` is the step in the events that the listener receives.
    """
    names = list(hosts)
    query = reporting(names, query, work.on_event, doing)
    answers = fan_out(names, lambda host: (query(host), work.clock.monotonic()))
    end = work.clock.monotonic()
    return {
        host: replace(
            host_report,
            timings=(*host_report.timings, Timing("all", "wait for other hosts", end - end_time)),
        )
        for host, (host_report, end_time) in answers.items()
    }


def _report(
    work: HostWork, host_reports: dict[str, HostReport], started: float, *, dry: bool
) -> ChangeReport:
    return ChangeReport(tuple(host_reports.values()), dry=dry, seconds=work.clock.monotonic() - started)


def _left_out(
    host_reports: dict[str, HostReport], drains: Drains, policy: DisruptionPolicy
) -> dict[str, HostReport]:
    """Return the reports.

    Hosts with jobs whose changes require a drain are marked as skipped, unless the policy has `drain`. Unless the
    policy has `reboot`, so is every host whose changes require a reboot.
    """
    wanting = [name for name, report in host_reports.items() if report.ok and report.disturbs]
    if not wanting or policy.reboot:
        return host_reports
    results = dict(host_reports)
    for name in (name for name in wanting if host_reports[name].reboots):
        results[name] = replace(host_reports[name], left_out=_reboot_reason(host_reports[name]))
    drainable = [name for name in wanting if not results[name].left_out]
    if not drainable or policy.drain:
        return results
    jobs = drains.busy() or {}
    for name in drainable:
        if host_reports[name].job_steps or name in jobs:
            text = (
                N_("jobs {jobs} run on the host, and a change requires it to be drained: pass --drain")
                if name in jobs
                else N_("jobs run on the host, and a change requires it to be drained: pass --drain")
            )
            reason = _(text, jobs=", ".join(jobs.get(name, ())))
            results[name] = replace(host_reports[name], left_out=reason)
    return results


def _reboot_reason(report: HostReport) -> str:
    if report.owes:
        return _("changes wait for a reboot ({changes}): pass --reboot", changes=", ".join(report.owes))
    names = [change.id for change in report.changes if change.cost is Cost.REBOOT]
    return _(
        "a reboot is required for {changes}: pass --reboot, which drains the host first",
        changes=", ".join(names),
    )


def _batch(
    work: HostWork,
    host_reports: dict[str, HostReport],
    batch: tuple[str, ...],
    drains: Drains,
    policy: DisruptionPolicy,
) -> dict[str, HostReport]:
    """Make the planned changes of one batch of hosts and return their reports.

    Hosts are drained before, rebooted and resumed after it, where their changes require and the policy permits that.
    """
    plans = _fetched(work, {name: host_reports[name] for name in batch}, policy)
    results: dict[str, HostReport] = {}
    wanting = [name for name in batch if plans[name].disturbs]
    if wanting and policy.empties:
        results = _emptied(wanting, plans, drains, policy)
    ready = [name for name in batch if name not in results]
    results.update(
        _waited(work, ready, lambda host: _apply_host(work, plans[host], host), _("making changes"))
    )
    emptied = [name for name in wanting if name in ready and policy.empties]
    results.update(_rebooted(work, {name: results[name] for name in emptied}, policy))
    if emptied:
        _resume_hosts(emptied, drains, results)
    return results


def _fetched(work: HostWork, plans: dict[str, HostReport], policy: DisruptionPolicy) -> dict[str, HostReport]:
    """Download packages on hosts that would be drained for their installation; return all plans.

    In these, changes of packages that cannot be downloaded are left out. Without a policy that drains, nothing is
    downloaded.
    """
    fetch_hosts = [
        name
        for name, report in plans.items()
        if policy.empties
        and any(change.id.startswith("package:") and change.disturbs for change in report.changes)
    ]
    results = dict(plans)
    for name, answer in fan_out(fetch_hosts, lambda host: work.fetch(plans[host])).items():
        available_changes = tuple(
            change for change in plans[name].changes if change.id not in answer.unavailable_ids
        )
        results[name] = replace(
            plans[name],
            changes=available_changes,
            unavailable=answer.unavailable,
            unavailable_ids=answer.unavailable_ids,
        )
    return results


def _rebooted(
    work: HostWork, host_reports: dict[str, HostReport], policy: DisruptionPolicy
) -> dict[str, HostReport]:
    """Reboot hosts whose changes wait for it; return their reports, with an error if the reboot or a check failed.

    Empty unless the policy has `reboot`; a host that failed stays drained.
    """
    boots = {
        name: report.boot
        for name, report in host_reports.items()
        if report.owes and (report.ok or report.unavailable)
    }
    if not boots or not policy.reboot:
        return {}
    reboots = Reboots(
        work.cluster,
        work.remote,
        work.clock,
        policy.on_progress,
        work.when,
        policy.health_check,
        policy.boot_s,
    )
    troubles = reboots.make(boots)
    completed_reports = {name: replace(host_reports[name], owes=()) for name in boots if name not in troubles}
    errors = {name: _("{reason}; the host stays drained", reason=reason) for name, reason in troubles.items()}
    return completed_reports | {
        name: replace(host_reports[name], error=error, fault_domain="change")
        for name, error in errors.items()
    }


def _new_slurmd(report: HostReport) -> bool:
    """Return whether the plan or apply in the report restarts a running slurmd."""
    return any(
        change.id == "unit:slurmd.service" and Verb.RESTART in change.verbs for change in report.changes
    )


def _settled(
    host_reports: dict[str, HostReport], drains: Drains, operator_drained: frozenset[str] | None
) -> dict[str, HostReport]:
    """Resume hosts that slurmctld drained while their slurmd restarted; return all reports.

    Hosts that slurmctld still rejects get a note; those that an operator drained stay so.
    """
    hosts = [
        name
        for name, report in host_reports.items()
        if _new_slurmd(report) and report.ok and not report.left_out
    ]
    messages = drains.settle(hosts, operator_drained) if hosts else {}
    return host_reports | {
        name: replace(host_reports[name], notes=(*host_reports[name].notes, message))
        for name, message in messages.items()
    }


def _emptied(
    wanting: list[str], host_reports: dict[str, HostReport], drains: Drains, policy: DisruptionPolicy
) -> dict[str, HostReport]:
    """Drain hosts and wait for their jobs; return, by host, the reports of those that must be skipped, with the reason.

    Their jobs still run after `wait_s`. A host that could not be drained is skipped only if it runs job steps.
    """
    refused = {host: reason for host, reason in drains.drain(wanting).items() if host_reports[host].job_steps}
    busy_hosts = (
        drains.wait([host for host in wanting if host not in refused]) if len(refused) < len(wanting) else {}
    )
    refused |= {
        host: _(
            "jobs {jobs} still run after {duration}; the host stays drained: run the command again to continue",
            jobs=", ".join(ids),
            duration=human_duration(policy.wait_s),
        )
        for host, ids in busy_hosts.items()
    }
    return {host: replace(host_reports[host], left_out=reason) for host, reason in refused.items()}


def _resume_hosts(hosts: Iterable[str], drains: Drains, reports: dict[str, HostReport]) -> None:
    """Resume hosts that this or an interrupted apply drained and whose changes are complete; others stay drained."""
    drains.resume([name for name in hosts if _is_complete(reports[name])])


def _is_complete(report: HostReport) -> bool:
    """Return whether every change of the host is made and no reboot is due, so that the host may be resumed.

    If package sets are unavailable, their packages and any unit may be missing.
    """
    pending_changes = [change for change in report.changes if not change.applied]
    is_complete = report.ok and not pending_changes
    only_missing_packages = bool(report.unavailable) and all(
        change.id in report.unavailable_ids or change.id.startswith("unit:") for change in pending_changes
    )
    return (is_complete or only_missing_packages) and not report.left_out and not report.owes


def _apply_host(work: HostWork, host_report: HostReport, host: str) -> HostReport:
    """Make the approved changes on one host, and return its report.

    A host that has changed since is not modified. Its package bundle is copied first; if that fails, nothing is
    changed.
    """
    unavailable = host_report.unavailable
    report = work.deliver(host_report) or work.run_agent(host, "apply", host_report.sum, unavailable)
    report = replace(
        report,
        unavailable=unavailable,
        unavailable_ids=host_report.unavailable_ids,
        seconds=host_report.seconds + report.seconds,
        interrupted=host_report.interrupted,
        timings=(*host_report.timings, *report.timings),
    )
    if not report.reached or not report.sum:  # the plan is still known
        report = replace(report, changes=host_report.changes)
    return report


def _clock(report: HostReport, *, final: bool) -> HostReport:
    """Return the report, with a note on its clock offset if that is 300 s or more; if `final` it is an error instead.

    If `final` and this apply configured chrony, it is neither. A report with an error gets it only if `final`.
    """
    if abs(report.clock_off_s) < CLOCK_LIMIT_S or report.error:
        is_tolerated = abs(report.clock_off_s) < CLOCK_LIMIT_S or not final
        return (
            report
            if is_tolerated
            else replace(report, fault_domain="host", error=f"{report.error}\n{_clock_message(report)}")
        )
    set_up = any(change.applied and "chrony" in change.id for change in report.changes)
    if final and not set_up:
        return replace(report, error=_clock_message(report), fault_domain="host")
    return report if final else replace(report, notes=(*report.notes, _clock_message(report)))


def _clock_message(report: HostReport) -> str:
    text = (
        N_(
            "the host's clock is {duration} ahead; munge rejects offsets above 5 minutes, so Slurm cannot use the "
            "host. `chronyc tracking` on the host shows the offset; `chronyc makestep` sets the clock"
        )
        if report.clock_off_s > 0
        else N_(
            "the host's clock is {duration} behind; munge rejects offsets above 5 minutes, so Slurm cannot use the "
            "host. `chronyc tracking` on the host shows the offset; `chronyc makestep` sets the clock"
        )
    )
    return _(text, duration=human_duration(abs(report.clock_off_s)))
