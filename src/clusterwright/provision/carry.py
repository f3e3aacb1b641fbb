"""Looks at the hosts, asks, and carries the changes out: wave by wave, with a stop where a change is at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.edge.ssh import fan_out
from clusterwright.i18n import N_, _
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.batches import batch_size, plan_batches
from clusterwright.provision.drain import Drains, ProgressCallback
from clusterwright.provision.reboot import BOOT_S, HealthCheck, Reboots, nothing_wrong
from clusterwright.provision.render.firewall_table import lets_in
from clusterwright.provision.report import HostReport, Report, Timing
from clusterwright.provision.work import Work
from clusterwright.units import HOUR_S, format_duration

_RULES = ("file:/etc/clusterwright/firewall.nft", "file:/etc/firewalld/")


def prevent_lockout(cluster: Cluster, host_report: HostReport) -> HostReport:
    """The same report, refused where new rules would not let the same ssh in again."""
    closing = any(change.id.startswith(_RULES) for change in host_report.changes)
    if not closing or host_report.error:
        return host_report
    host = cluster.host(host_report.host)
    error = _address(host, host_report) or _port(cluster, host_report) or _source(cluster, host, host_report)
    return replace(host_report, error=error, blame="host") if error else host_report


def _address(host: Host, host_report: HostReport) -> str:
    ours = {str(address) for address in host.addresses.values()}
    if host_report.reached_at in ("", str(host.management)):
        return ""
    kind = (
        _("another address of the host")
        if host_report.reached_at in ours
        else _("an address that the file does not name")
    )
    return _(
        "ssh came in at {reached_at}, {kind}; the firewall leaves SSH open on {management} "
        "only. Reach the host by that address (HostName in ssh_config), or set "
        "security.firewall to false",
        reached_at=host_report.reached_at,
        kind=kind,
        management=host.management,
    )


def _port(cluster: Cluster, host_report: HostReport) -> str:
    if host_report.reached_port in ("", str(cluster.ssh.port)):
        return ""
    return _(
        "sshd listens on port {reached_port} here, and the firewall leaves {port} open only. "
        "Set ssh.port to {reached_port}, or give sshd that port",
        reached_port=host_report.reached_port,
        port=cluster.ssh.port,
    )


def _source(cluster: Cluster, host: Host, host_report: HostReport) -> str:
    if not host_report.came_from or lets_in(cluster, host, host_report.came_from, cluster.ssh.port):
        return ""
    nets = ", ".join(map(str, cluster.security.ssh_from))
    allowed = (
        _("{nets} (security.ssh_from)", nets=nets)
        if nets
        else _("anywhere but the compute and storage networks")
    )
    return _(
        "ssh came from {came_from}, and the firewall lets it in from {allowed} and the hosts "
        "of the cluster. Add that network to security.ssh_from, or come from one that is "
        "there",
        came_from=host_report.came_from,
        allowed=allowed,
    )


CLOCK_LIMIT_S = (
    300  # munge(7): a credential lives 300 s by default, and clocks that differ by more see none alive
)

Agree = Callable[[Report], bool]


@dataclass(frozen=True, slots=True)
class DisruptionPolicy:
    """How gently an apply goes about it.

    `batch` is the size of a batch (`4`, `25%`), `drain` empties hosts where a change wants that, waiting
    `wait_s` in all for their jobs, `reboot` does the same for changes that want a reboot, and makes it, after
    which `health_check` must find nothing wrong. `on_progress` is told what goes on meanwhile.
    """

    batch: str = ""
    drain: bool = False
    reboot: bool = False
    health_check: HealthCheck = nothing_wrong
    boot_s: float = BOOT_S
    wait_s: float = HOUR_S
    on_progress: ProgressCallback = lambda _message: None

    @property
    def empties(self) -> bool:
        """True when hosts may be drained."""
        return self.drain or self.reboot


def carry_out(
    work: Work,
    hosts: Iterable[str],
    *,
    policy: DisruptionPolicy,
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
) -> Report:
    """Look at every host, make the changes that `agree` is content with; one host's trouble holds up nobody."""
    started = work.clock.monotonic()
    batch_size(policy.batch, 1)  # refused before any host is asked
    drains = Drains(work.cluster, work.remote, work.clock, policy.wait_s, policy.on_progress, work.when)
    check_reports = _waited(
        work, hosts, lambda host: prevent_lockout(work.cluster, work.run_agent(host, "check"))
    )
    host_reports = _left_out(check_reports, drains, policy)
    preview = {host: _clock(report, final=False) for host, report in host_reports.items()}
    report = _report(work, preview, started, dry=True)
    to_do = report.to_do()
    if dry_run or (to_do and not agree(report)):
        return report
    batches = plan_batches(work.cluster, to_do, policy.batch)
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
            name for name in batch if host_reports[name].error and host_reports[name].blame == "change"
        ]:
            later = [name for wave in batches[index + 1 :] for name in wave]
            reason = _("not begun, because the change failed on {fold}", fold=fold(bad))
            host_reports.update({name: replace(host_reports[name], left_out=reason) for name in later})
            break
    if policy.empties:
        _resume_hosts(host_reports, drains, host_reports)
    host_reports = {host: _clock(host_report, final=True) for host, host_report in host_reports.items()}
    return _report(work, host_reports, started, dry=not to_do)


def _waited(work: Work, hosts: Iterable[str], query: Callable[[str], HostReport]) -> dict[str, HostReport]:
    """What each host answers, all of them at the same time; how long each waited for the last is in its timings."""
    answers = fan_out(hosts, lambda host: (query(host), work.clock.monotonic()))
    end = work.clock.monotonic()
    return {
        host: replace(
            host_report,
            timings=(*host_report.timings, Timing("all", "wait for other hosts", end - end_time)),
        )
        for host, (host_report, end_time) in answers.items()
    }


def _report(work: Work, host_reports: dict[str, HostReport], started: float, *, dry: bool) -> Report:
    return Report(tuple(host_reports.values()), dry=dry, seconds=work.clock.monotonic() - started)


def _left_out(
    host_reports: dict[str, HostReport], drains: Drains, policy: DisruptionPolicy
) -> dict[str, HostReport]:
    """Without `drain`, hosts with jobs whose change wants an empty host are left as they are.

    Without `reboot`, so is every host that a change wants rebooted.
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
            which = f" ({', '.join(jobs[name])})" if name in jobs else ""
            reason = _(
                "jobs run there{which}, and a change wants the host without any: pass --drain", which=which
            )
            results[name] = replace(host_reports[name], left_out=reason)
    return results


def _reboot_reason(report: HostReport) -> str:
    if report.owes:
        return _(
            "it was changed ({owes}) and waits for its reboot: pass --reboot", owes=", ".join(report.owes)
        )
    names = [change.id for change in report.changes if change.cost is Cost.REBOOT]
    return _(
        "it has to be rebooted for {names}: pass --reboot, which drains it first", names=", ".join(names)
    )


def _batch(
    work: Work,
    host_reports: dict[str, HostReport],
    batch: tuple[str, ...],
    drains: Drains,
    policy: DisruptionPolicy,
) -> dict[str, HostReport]:
    """One batch: emptied where that is needed and asked for, changed, and given back."""
    plans = _fetched(work, {name: host_reports[name] for name in batch}, policy)
    results: dict[str, HostReport] = {}
    wanting = [name for name in batch if plans[name].disturbs]
    if wanting and policy.empties:
        results = _emptied(wanting, plans, drains, policy)
    ready = [name for name in batch if name not in results]
    results.update(_waited(work, ready, lambda host: _apply_host(work, plans[host], host)))
    emptied = [name for name in wanting if name in ready and policy.empties]
    results.update(_rebooted(work, {name: results[name] for name in emptied}, policy))
    if emptied:
        _resume_hosts(emptied, drains, results)
    return results


def _fetched(work: Work, plans: dict[str, HostReport], policy: DisruptionPolicy) -> dict[str, HostReport]:
    """Packages lie on a host before it is drained for them; what cannot be had is no reason to drain it."""
    fetch_hosts = [
        name
        for name, report in plans.items()
        if policy.empties
        and any(change.id.startswith("package:") and change.disturbs for change in report.changes)
    ]
    results = dict(plans)
    for name, answer in fan_out(fetch_hosts, lambda host: work.run_agent(host, "fetch")).items():
        available_changes = tuple(
            change for change in plans[name].changes if change.id not in answer.lost_ids
        )
        results[name] = replace(
            plans[name], changes=available_changes, lost=answer.lost, lost_ids=answer.lost_ids
        )
    return results


def _rebooted(
    work: Work, host_reports: dict[str, HostReport], policy: DisruptionPolicy
) -> dict[str, HostReport]:
    """Those that owe a reboot have had it, and Slurm and the checks find nothing wrong; else that is their error."""
    boots = {
        name: report.boot
        for name, report in host_reports.items()
        if report.owes and (report.ok or report.lost)
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
    suffix = _("; it stays drained")
    return completed_reports | {
        name: replace(host_reports[name], error=f"{reason}{suffix}", blame="change")
        for name, reason in troubles.items()
    }


def _new_slurmd(report: HostReport) -> bool:
    """True when a slurmd that runs is to be started anew."""
    return any(
        change.id == "unit:slurmd.service" and Verb.RESTART in change.verbs for change in report.changes
    )


def _settled(
    host_reports: dict[str, HostReport], drains: Drains, operator_drained: frozenset[str]
) -> dict[str, HostReport]:
    """What Slurm refuses after its daemons have read the new files is noted."""
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
    """Those that cannot be emptied, or not in time, left out each with its reason."""
    refused = {host: reason for host, reason in drains.drain(wanting).items() if host_reports[host].job_steps}
    busy_hosts = (
        drains.wait([host for host in wanting if host not in refused]) if len(refused) < len(wanting) else {}
    )
    suffix = _(
        "still there after {duration}; it stays drained: run again to go on",
        duration=format_duration(int(policy.wait_s)),
    )
    refused |= {
        host: _("jobs {ids} are {suffix}", ids=", ".join(ids), suffix=suffix)
        for host, ids in busy_hosts.items()
    }
    return {host: replace(host_reports[host], left_out=reason) for host, reason in refused.items()}


def _resume_hosts(hosts: Iterable[str], drains: Drains, reports: dict[str, HostReport]) -> None:
    """Hosts that we drained, in this apply or one that was cut short, and where nothing wants that any more."""
    drains.resume([name for name in hosts if _is_complete(reports[name])])


def _is_complete(report: HostReport) -> bool:
    """Nothing is half changed there: all is done, but for packages that cannot be had."""
    pending_changes = [change for change in report.changes if not change.done]
    is_complete = report.ok and not pending_changes
    only_missing_packages = bool(report.lost) and all(
        change.id in report.lost_ids or change.id.startswith("unit:") for change in pending_changes
    )
    return (is_complete or only_missing_packages) and not report.left_out and not report.owes


def _apply_host(work: Work, host_report: HostReport, host: str) -> HostReport:
    """Do what was shown. A host that has changed since is not touched: its plan is old."""
    report = work.run_agent(host, "apply", host_report.sum, host_report.lost)
    report = replace(
        report,
        lost=host_report.lost,
        lost_ids=host_report.lost_ids,
        seconds=host_report.seconds + report.seconds,
        interrupted=host_report.interrupted,
        timings=(*host_report.timings, *report.timings),
    )
    if not report.reached or not report.sum:  # what was wanted there is still known
        report = replace(report, changes=host_report.changes)
    return report


def _clock(report: HostReport, *, final: bool) -> HostReport:
    """A clock that is far off is named; after an apply that did not just set up time there, it is an error."""
    if abs(report.clock_off_s) < CLOCK_LIMIT_S or report.error:
        is_tolerated = abs(report.clock_off_s) < CLOCK_LIMIT_S or not final
        return (
            report
            if is_tolerated
            else replace(report, blame="host", error=f"{report.error}\n{_clock_message(report)}")
        )
    set_up = any(change.done and "chrony" in change.id for change in report.changes)
    if final and not set_up:
        return replace(report, error=_clock_message(report), blame="host")
    return report if final else replace(report, notes=(*report.notes, _clock_message(report)))


def _clock_message(report: HostReport) -> str:
    off = report.clock_off_s
    text = (
        N_(
            "its clock is {duration} ahead: munge refuses more than 5 minutes, so Slurm cannot use the host. {fix}"
        )
        if off > 0
        else N_(
            "its clock is {duration} behind: munge refuses more than 5 minutes, so Slurm cannot use the host. {fix}"
        )
    )
    return _(
        text,
        duration=format_duration(round(abs(off))),
        fix=_("`chronyc tracking` on the host shows the offset; `chronyc makestep` sets the clock"),
    )
