"""Slurm's release is changed while jobs run: one kind of daemon after the other, each seen to work before the next."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.slurm import FIELDS, QUEUE, checked
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.provision.apply import apply
from clusterwright.provision.change.upgrade import Step, is_of
from clusterwright.provision.render.slurm_settings import STATE
from clusterwright.provision.report import Report
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.slurm.states import FAILED_BY_HOST

BACKUP_FOLDER = (
    "/var/lib/clusterwright/kept"  # outside undo/: an apply's undo is thrown away in time, this never by us
)
ANSWER_S = 120  # a daemon that has not answered by then is asked about
CONVERT_S = 3600  # slurmdbd rewrites its tables first; Slurm's own page speaks of hours for millions of jobs
MAX_ATTEMPTS = 10
VERSION = client.line(client.version())

# Read before it counts: the dump to its last line, the copy to its end, with the jobs in it.
# MariaDB 10.3 (RHEL 8) has the older name.
_DUMP = """set -eu; umask 077; mkdir -p {kept}; cd {kept}
database=$(sed -n 's/^StorageLoc=//p' /etc/slurm/slurmdbd.conf)
dump=$(command -v mariadb-dump || command -v mysqldump)
"$dump" --single-transaction --databases "${{database:-slurm_acct_db}}" | gzip > accounting.sql.gz.part
gzip -dc accounting.sql.gz.part | tail -n 1 | grep -q '^-- Dump completed'
mv accounting.sql.gz.part accounting.sql.gz; sync; du -k accounting.sql.gz
"""
_COPY = """set -eu; umask 077; mkdir -p {kept}; cd {kept}
tar -czf state.tar.gz.part -C {state} .
tar -tzf state.tar.gz.part | grep -q '/job_state$'
mv state.tar.gz.part state.tar.gz; sync; du -k state.tar.gz
"""

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The file as it is to be, and how the hosts are reached."""

    path: Path
    cluster: Cluster  # with the new version
    remote: Remote
    when: str
    clock: Clock = field(default_factory=SystemClock)

    @property
    def target(self) -> str:
        """The new version."""
        return self.cluster.software.slurm

    def run(self, host: str, command: str, *, timeout_s: float = 60) -> CommandResult:
        """As root."""
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def control(self, command: str, *, timeout_s: float = 60) -> CommandResult:
        """Where slurmctld runs."""
        return self.run(self.cluster.control.name, command, timeout_s=timeout_s)

    def backup_folder(self) -> str:
        """The folder of what is kept, on the host that it is of."""
        return f"{BACKUP_FOLDER}/{self.when}"

    def has_new(self, host: str) -> bool:
        """True when the programs there are of the new release."""
        return is_of(version_of(self.run(host, VERSION).out), self.target)


def version_of(text: str) -> str:
    """`slurm-wlm 24.11.5` and the like, as 24.11.5; empty where there is none."""
    match = re.search(r"slurm\S* (\d+\.\d+[\w.]*)", text)
    return match[1] if match else ""


def versions(task: Upgrade) -> dict[str, str]:
    """The version of every host.

    Raises:
        WrightError: hosts that do not answer or have no Slurm: half an upgrade is none.
    """
    names = [host.name for host in task.cluster.hosts()]
    results = fan_out(names, lambda host: task.run(host, VERSION))
    version_by_host = {host: version_of(result.out) for host, result in results.items()}
    unresponsive = [host for host, version in version_by_host.items() if not version]
    if unresponsive:
        errors_text = "\n".join(
            f"{host}: {results[host].last_lines(1) or 'no Slurm there'}" for host in unresponsive
        )
        raise WrightError.from_code(
            "upgrade-silent",
            _(
                "the version of {hosts} is not known:\n{errors}",
                hosts=fold(unresponsive),
                errors=errors_text,
            ),
            _("fix that, or take the hosts out first: wright remove-hosts"),
        )
    return version_by_host


def refuse_without_packages(task: Upgrade, hosts: tuple[str, ...]) -> None:
    """Each host's package manager knows the new release, before anything is stopped.

    Raises:
        WrightError: it does not; with what it knows.
    """
    missing = {
        host: error for host, error in fan_out(hosts, lambda host: _packages(task, host)).items() if error
    }
    if missing:
        errors_text = "\n".join(f"{fold([host])}: {reason}" for host, reason in missing.items())
        raise WrightError.from_code(
            "upgrade-no-packages",
            _(
                "no packages of Slurm {target} are known on {hosts}:\n{errors}",
                target=task.target,
                hosts=fold(list(missing)),
                errors=errors_text,
            ),
            _(
                "name their repository in the file under software.repositories, `wright apply` it, "
                "and run this again"
            ),
        )


def _packages(task: Upgrade, host: str) -> str:
    """Why the packages cannot be had there; nothing where they can."""
    if task.cluster.platform.package_manager == "dnf":
        result = task.run(host, f"dnf -q list --showduplicates slurm-{task.target}*", timeout_s=300)
        return "" if result.ok else result.last_lines(2)
    available = "none"
    for _ignored in range(MAX_ATTEMPTS):  # another apt may be at work, and then the lists are not read anew
        result = task.run(host, "apt-cache madison slurm-client slurm-smd-client")
        rows = [line.split("|")[1].strip() for line in result.out.splitlines() if line.count("|") > 1]
        if any(is_of(row.split(":")[-1], task.target) for row in rows):
            return ""
        available = ", ".join(rows) or available
        task.run(host, "apt-get -qq update", timeout_s=300)
        task.clock.sleep(1)
    return _("known there: {available}", available=available)


def running(task: Upgrade) -> dict[str, Job]:
    """Jobs that run now, by id.

    Raises:
        WrightError: slurmctld does not answer.
    """
    control = task.cluster.control.name
    jobs = parse_queue(checked(task.control(QUEUE), control, "squeue").out, FIELDS)
    return {job.id: job for job in jobs if job.state == "RUNNING"}


def do(task: Upgrade, step: Step, previous_jobs: dict[str, Job], on_progress: ProgressCallback) -> Report:
    """One step, up to what has to hold after it.

    Raises:
        WrightError: something does not hold; the steps before it stand, and the same command goes on from here.
    """
    if step.kind in ("slurmdbd", "slurmctld"):
        back_up_state(task, step, on_progress)
    report = apply(task.cluster, str(task.path), task.remote, only=frozenset(step.hosts))
    bad = [host for host in report.hosts if not host.ok]
    if bad:
        restart_units(task, step)
        errors_text = "\n".join(f"{host.host}: {host.error}" for host in bad)
        raise _stopped(
            step,
            _(
                "the new release could not be put on {hosts}:\n{errors}",
                hosts=fold([host.host for host in bad]),
                errors=errors_text,
            ),
        )
    verify(task, step)
    if step.kind != "slurmdbd":
        missing_jobs = lost_jobs(task, previous_jobs)
        if missing_jobs:
            raise _stopped(
                step,
                _("jobs {missing_jobs} ran before, and do not run now", missing_jobs=", ".join(missing_jobs)),
            )
    return report


def verify(task: Upgrade, step: Step) -> None:
    """What has to hold after the step.

    Raises:
        WrightError: it does not, within its time.
    """
    _CHECKS[step.kind](task, step)


def back_up_state(task: Upgrade, step: Step, on_progress: ProgressCallback) -> None:
    """The daemons of the host stopped; what they keep copied, and the copies read.

    Raises:
        WrightError: a copy could not be made or read; the daemons of before run again.
    """
    (host,) = step.hosts
    if task.has_new(host):
        return  # it was kept before it became so, by this run or by one that was cut short
    for unit, name, script in _backup_items(task, host):
        if task.run(host, f"systemctl is-active --quiet {unit}").ok:
            checked(task.run(host, f"systemctl stop {unit}", timeout_s=300), host, "systemctl")
        text = script.format(kept=task.backup_folder(), state=STATE)
        result = task.run(host, text, timeout_s=CONVERT_S)
        if not result.ok:
            restart_units(task, step)
            raise _stopped(
                step,
                _(
                    "{host}: {name} could not be kept: {last_lines}",
                    host=host,
                    name=name,
                    last_lines=result.last_lines(3) or "the copy is not whole",
                ),
            )
        on_progress(
            _(
                "{host}: kept and read: {backup_folder}/{name}, {split} KiB",
                host=host,
                backup_folder=task.backup_folder(),
                name=name,
                split=result.out.split()[0],
            )
        )


def _backup_items(task: Upgrade, host: str) -> list[tuple[str, str, str]]:
    """Unit, file and script, slurmctld first: it is stopped first and started last."""
    items = []
    if any(control_host.name == host for control_host in task.cluster.hosts("control")):
        items.append(("slurmctld.service", "state.tar.gz", _COPY))
    if task.cluster.accountant and task.cluster.accountant.name == host:
        items.append(("slurmdbd.service", "accounting.sql.gz", _DUMP))
    return items


def restart_units(task: Upgrade, step: Step) -> None:
    """What was stopped runs again, as far as it can: nothing else of the step was done."""
    for host in step.hosts:
        for unit, _name, _script in reversed(_backup_items(task, host)):
            task.run(host, f"systemctl start {unit}", timeout_s=120)


def lost_jobs(task: Upgrade, previous_jobs: dict[str, Job]) -> list[str]:
    """Jobs that ran before and neither run now nor have ended as jobs end."""
    control = task.cluster.control.name
    jobs = parse_queue(checked(task.control(QUEUE), control, "squeue").out, FIELDS)
    well = {job.id for job in jobs if not job.is_pending and job.state not in FAILED_BY_HOST}
    return [job for job in previous_jobs if job not in well]


def wait_for_check(task: Upgrade, step: Step, test: Callable[[], str], limit_s: float = ANSWER_S) -> None:
    """The test says nothing more within the time.

    Raises:
        WrightError: it still says what is wrong.
    """
    started = task.clock.monotonic()
    while reason := test():
        if task.clock.monotonic() - started > limit_s:
            raise _stopped(step, reason)
        task.clock.sleep(1)


def _slurmdbd(task: Upgrade, step: Step) -> None:
    (host,) = step.hosts

    def wrong() -> str:
        if not task.has_new(host):
            return _("{host} does not have Slurm {target}", host=host, target=task.target)
        result = task.run(host, client.line(client.clusters()))
        return (
            ""
            if result.ok and result.out.strip()
            else _("slurmdbd does not answer: {last_lines}", last_lines=result.last_lines(2))
        )

    wait_for_check(task, step, wrong, CONVERT_S)


def _slurmctld(task: Upgrade, step: Step) -> None:
    def wrong() -> str:
        result = task.control(client.line(client.show_config()))
        match = re.search(r"(?m)^SLURM_VERSION\s*= (\S+)", result.out)
        if match is None:
            return _("slurmctld does not answer: {last_lines}", last_lines=result.last_lines(2))
        return "" if is_of(match[1], task.target) else _("slurmctld is still {version}", version=match[1])

    wait_for_check(task, step, wrong)


def _slurmd(task: Upgrade, step: Step) -> None:
    def wrong() -> str:
        nodes = parse_nodes(task.control(client.line(client.show_nodes(step.hosts))).out)
        for host in step.hosts:
            node = nodes.get(host)
            version = node.record["Version"] if node else ""
            if not node or not is_of(version, task.target):
                return _("slurmctld has {host} with version {version}", host=host, version=version or "none")
            if not node.state.is_up or node.state.is_invalid:
                return _("slurmctld has {host} as {state}", host=host, state=node.state.text)
        return ""

    wait_for_check(task, step, wrong)


def _clients(task: Upgrade, step: Step) -> None:
    def wrong() -> str:
        unresponsive = [
            host for host in step.hosts if not task.run(host, client.line(client.node_states())).ok
        ]
        return _("sinfo does not respond on {hosts}", hosts=fold(unresponsive)) if unresponsive else ""

    wait_for_check(task, step, wrong)


_CHECKS: dict[str, Callable[[Upgrade, Step], None]] = {
    "slurmdbd": _slurmdbd, "slurmctld": _slurmctld, "slurmd": _slurmd, "clients": _clients,
}  # fmt: skip


def _stopped(step: Step, reason: str) -> WrightError:
    return WrightError.from_code(
        "upgrade-stopped",
        _(
            "the upgrade stops at {kind} on {fold}: {reason}",
            kind=step.kind,
            fold=fold(step.hosts),
            reason=reason,
        ),
        _("fix that, and run the same command again: it goes on from there; no later host was touched"),
    )
