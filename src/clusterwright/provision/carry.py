"""Looks at the hosts, asks, and carries the changes out: wave by wave, with a stop where a change is at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.edge.ssh import fan_out
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.drain import Drains, Say
from clusterwright.provision.reboot import BOOT_S, Look, Reboots, nothing_wrong
from clusterwright.provision.render.firewall_table import lets_in
from clusterwright.provision.report import HostReport, Report, Timing
from clusterwright.provision.waves import batch_size, waves
from clusterwright.provision.work import Work
from clusterwright.units import HOUR_S, format_duration

_RULES = ("file:/etc/clusterwright/firewall.nft", "file:/etc/firewalld/")


def way_back(cluster: Cluster, seen: HostReport) -> HostReport:
    """The same report, refused where new rules would not let the same ssh in again."""
    closing = any(change.id.startswith(_RULES) for change in seen.changes)
    if not closing or seen.error:
        return seen
    host = cluster.host(seen.host)
    error = _address(host, seen) or _port(cluster, seen) or _source(cluster, host, seen)
    return replace(seen, error=error, blame="host") if error else seen


def _address(host: Host, seen: HostReport) -> str:
    ours = {str(address) for address in host.addresses.values()}
    if seen.reached_at in ("", str(host.management)):
        return ""
    kind = (
        "another address of the host" if seen.reached_at in ours else "an address that the file does not name"
    )
    return (
        f"ssh came in at {seen.reached_at}, {kind}; the firewall leaves SSH open on {host.management} only. "
        "Reach the host by that address (HostName in ssh_config), or set security.firewall to false"
    )


def _port(cluster: Cluster, seen: HostReport) -> str:
    if seen.reached_port in ("", str(cluster.ssh.port)):
        return ""
    return (
        f"sshd listens on port {seen.reached_port} here, and the firewall leaves {cluster.ssh.port} open only. "
        f"Set ssh.port to {seen.reached_port}, or give sshd that port"
    )


def _source(cluster: Cluster, host: Host, seen: HostReport) -> str:
    if not seen.came_from or lets_in(cluster, host, seen.came_from, cluster.ssh.port):
        return ""
    nets = ", ".join(map(str, cluster.security.ssh_from))
    allowed = f"{nets} (security.ssh_from)" if nets else "anywhere but the compute and storage networks"
    return (
        f"ssh came from {seen.came_from}, and the firewall lets it in from {allowed} and the hosts of the cluster. "
        "Add that network to security.ssh_from, or come from one that is there"
    )


CLOCK_LIMIT_S = (
    300  # munge(7): a credential lives 300 s by default, and clocks that differ by more see none alive
)

Agree = Callable[[Report], bool]


@dataclass(frozen=True, slots=True)
class Care:
    """How gently an apply goes about it.

    `batch` is the size of a batch (`4`, `25%`), `drain` empties hosts where a change wants that, waiting
    `wait_s` in all for their jobs, `reboot` does the same for changes that want a reboot, and makes it, after
    which `look` must find nothing wrong. `say` is told what goes on meanwhile.
    """

    batch: str = ""
    drain: bool = False
    reboot: bool = False
    look: Look = nothing_wrong
    boot_s: float = BOOT_S
    wait_s: float = HOUR_S
    say: Say = lambda _words: None

    @property
    def empties(self) -> bool:
        """True when hosts may be drained."""
        return self.drain or self.reboot


def carry_out(
    work: Work,
    hosts: Iterable[str],
    *,
    care: Care,
    dry_run: bool = False,
    agree: Agree = lambda _report: True,
) -> Report:
    """Look at every host, make the changes that `agree` is content with; one host's trouble holds up nobody."""
    started = work.clock.monotonic()
    batch_size(care.batch, 1)  # refused before any host is asked
    drains = Drains(work.cluster, work.remote, work.clock, care.wait_s, care.say, work.when)
    looked = _waited(work, hosts, lambda host: way_back(work.cluster, work.ask(host, "check")))
    seen = _left_out(looked, drains, care)
    shown = {host: _clock(report, final=False) for host, report in seen.items()}
    report = _report(work, shown, started, dry=True)
    to_do = report.to_do()
    if dry_run or (to_do and not agree(report)):
        return report
    batches = waves(work.cluster, to_do, care.batch)
    held = drains.held() if any(_new_slurmd(one) for one in to_do.values()) else frozenset()
    for place, batch in enumerate(batches):
        seen.update(_settled(_batch(work, seen, batch, drains, care), drains, held))
        if bad := [name for name in batch if seen[name].error and seen[name].blame == "change"]:
            later = [name for wave in batches[place + 1 :] for name in wave]
            why = f"not begun, because the change failed on {fold(bad)}"
            seen.update({name: replace(seen[name], left_out=why) for name in later})
            break
    if care.empties:
        _give_back(seen, drains, seen)
    seen = {host: _clock(one, final=True) for host, one in seen.items()}
    return _report(work, seen, started, dry=not to_do)


def _waited(work: Work, hosts: Iterable[str], ask: Callable[[str], HostReport]) -> dict[str, HostReport]:
    """What each host answers, all of them at the same time; how long each waited for the last is in its timings."""
    done = fan_out(hosts, lambda host: (ask(host), work.clock.monotonic()))
    end = work.clock.monotonic()
    return {
        host: replace(one, timings=(*one.timings, Timing("all", "wait for other hosts", end - at)))
        for host, (one, at) in done.items()
    }


def _report(work: Work, seen: dict[str, HostReport], started: float, *, dry: bool) -> Report:
    return Report(tuple(seen.values()), dry=dry, seconds=work.clock.monotonic() - started)


def _left_out(seen: dict[str, HostReport], drains: Drains, care: Care) -> dict[str, HostReport]:
    """Without `drain`, hosts with jobs whose change wants an empty host are left as they are.

    Without `reboot`, so is every host that a change wants rebooted.
    """
    wanting = [name for name, report in seen.items() if report.ok and report.disturbs]
    if not wanting or care.reboot:
        return seen
    found = dict(seen)
    for name in (name for name in wanting if seen[name].reboots):
        found[name] = replace(seen[name], left_out=_wants_reboot(seen[name]))
    rest = [name for name in wanting if not found[name].left_out]
    if not rest or care.drain:
        return found
    jobs = drains.busy() or {}
    for name in rest:
        if seen[name].job_steps or name in jobs:
            which = f" ({', '.join(jobs[name])})" if name in jobs else ""
            why = f"jobs run there{which}, and a change wants the host without any: pass --drain"
            found[name] = replace(seen[name], left_out=why)
    return found


def _wants_reboot(report: HostReport) -> str:
    if report.owes:
        return f"it was changed ({', '.join(report.owes)}) and waits for its reboot: pass --reboot"
    names = [change.id for change in report.changes if change.cost is Cost.REBOOT]
    return f"it has to be rebooted for {', '.join(names)}: pass --reboot, which drains it first"


def _batch(
    work: Work, seen: dict[str, HostReport], batch: tuple[str, ...], drains: Drains, care: Care
) -> dict[str, HostReport]:
    """One batch: emptied where that is needed and asked for, changed, and given back."""
    plans = _fetched(work, {name: seen[name] for name in batch}, care)
    found: dict[str, HostReport] = {}
    wanting = [name for name in batch if plans[name].disturbs]
    if wanting and care.empties:
        found = _emptied(wanting, plans, drains, care)
    ready = [name for name in batch if name not in found]
    found.update(_waited(work, ready, lambda host: _act(work, plans[host], host)))
    emptied = [name for name in wanting if name in ready and care.empties]
    found.update(_rebooted(work, {name: found[name] for name in emptied}, care))
    if emptied:
        _give_back(emptied, drains, found)
    return found


def _fetched(work: Work, plans: dict[str, HostReport], care: Care) -> dict[str, HostReport]:
    """Packages lie on a host before it is drained for them; what cannot be had is no reason to drain it."""
    asked = [
        name
        for name, report in plans.items()
        if care.empties and any(one.id.startswith("package:") and one.disturbs for one in report.changes)
    ]
    found = dict(plans)
    for name, answer in fan_out(asked, lambda host: work.ask(host, "fetch")).items():
        kept = tuple(one for one in plans[name].changes if one.id not in answer.lost_ids)
        found[name] = replace(plans[name], changes=kept, lost=answer.lost, lost_ids=answer.lost_ids)
    return found


def _rebooted(work: Work, found: dict[str, HostReport], care: Care) -> dict[str, HostReport]:
    """Those that owe a reboot have had it, and Slurm and the checks find nothing wrong; else that is their error."""
    boots = {
        name: report.boot for name, report in found.items() if report.owes and (report.ok or report.lost)
    }
    if not boots or not care.reboot:
        return {}
    reboots = Reboots(work.cluster, work.remote, work.clock, care.say, work.when, care.look, care.boot_s)
    troubles = reboots.make(boots)
    done = {name: replace(found[name], owes=()) for name in boots if name not in troubles}
    words = "; it stays drained"
    return done | {
        name: replace(found[name], error=f"{why}{words}", blame="change") for name, why in troubles.items()
    }


def _new_slurmd(report: HostReport) -> bool:
    """True when a slurmd that runs is to be started anew."""
    return any(one.id == "unit:slurmd.service" and Verb.RESTART in one.verbs for one in report.changes)


def _settled(found: dict[str, HostReport], drains: Drains, held: frozenset[str]) -> dict[str, HostReport]:
    """What Slurm refuses after its daemons have read the new files is noted."""
    hosts = [
        name for name, report in found.items() if _new_slurmd(report) and report.ok and not report.left_out
    ]
    words = drains.settle(hosts, held) if hosts else {}
    return found | {
        name: replace(found[name], notes=(*found[name].notes, said)) for name, said in words.items()
    }


def _emptied(
    wanting: list[str], seen: dict[str, HostReport], drains: Drains, care: Care
) -> dict[str, HostReport]:
    """Those that cannot be emptied, or not in time, left out each with its reason."""
    refused = {host: why for host, why in drains.drain(wanting).items() if seen[host].job_steps}
    still = (
        drains.wait([host for host in wanting if host not in refused]) if len(refused) < len(wanting) else {}
    )
    words = f"still there after {format_duration(int(care.wait_s))}; it stays drained: run again to go on"
    refused |= {host: f"jobs {', '.join(ids)} are {words}" for host, ids in still.items()}
    return {host: replace(seen[host], left_out=why) for host, why in refused.items()}


def _give_back(hosts: Iterable[str], drains: Drains, reports: dict[str, HostReport]) -> None:
    """Hosts that we drained, in this apply or one that was cut short, and where nothing wants that any more."""
    drains.resume([name for name in hosts if _is_done(reports[name])])


def _is_done(report: HostReport) -> bool:
    """Nothing is half changed there: all is done, but for packages that cannot be had."""
    left = [one for one in report.changes if not one.done]
    whole = report.ok and not left
    without = bool(report.lost) and all(
        one.id in report.lost_ids or one.id.startswith("unit:") for one in left
    )
    return (whole or without) and not report.left_out and not report.owes


def _act(work: Work, seen: HostReport, host: str) -> HostReport:
    """Do what was shown. A host that has changed since is not touched: its plan is old."""
    report = work.ask(host, "apply", seen.sum, seen.lost)
    report = replace(
        report,
        lost=seen.lost,
        lost_ids=seen.lost_ids,
        seconds=seen.seconds + report.seconds,
        interrupted=seen.interrupted,
        timings=(*seen.timings, *report.timings),
    )
    if not report.reached or not report.sum:  # what was wanted there is still known
        report = replace(report, changes=seen.changes)
    return report


def _clock(report: HostReport, *, final: bool) -> HostReport:
    """A clock that is far off is named; after an apply that did not just set up time there, it is an error."""
    if abs(report.clock_off_s) < CLOCK_LIMIT_S or report.error:
        known = abs(report.clock_off_s) < CLOCK_LIMIT_S or not final
        return report if known else replace(report, blame="host", error=f"{report.error}\n{_words(report)}")
    set_up = any(change.done and "chrony" in change.id for change in report.changes)
    if final and not set_up:
        return replace(report, error=_words(report), blame="host")
    return report if final else replace(report, notes=(*report.notes, _words(report)))


def _words(report: HostReport) -> str:
    off = report.clock_off_s
    return (
        f"its clock is {format_duration(round(abs(off)))} {'ahead of' if off > 0 else 'behind'} ours; munge refuses "
        "more than 5 minutes, so Slurm cannot use the host. See `chronyc tracking` there; `chronyc makestep` sets it"
    )
