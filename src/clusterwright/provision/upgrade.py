"""Upgrade Slurm while jobs run: one kind of daemon after the other, each verified before the next."""

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
from clusterwright.provision.change.upgrade import UpgradeStep, is_of
from clusterwright.provision.render.slurm_settings import STATE
from clusterwright.provision.report import ChangeReport
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.slurm.records import split_lines
from clusterwright.slurm.states import FAILED_BY_HOST
from clusterwright.units import KiB, human_size

BACKUP_FOLDER = (
    "/var/lib/clusterwright/kept"  # outside undo/, whose oldest folders are deleted; backups never are
)
ANSWER_S = 120  # a daemon that has not responded by then has failed
CONVERT_S = 3600  # slurmdbd converts its tables first; Slurm's own page speaks of hours for millions of jobs
MAX_ATTEMPTS = 10
VERSION = client.line(client.version())

# Each backup is verified before it counts: the dump has its last line, the copy is readable and has job_state.
# MariaDB 10.3 (RHEL 8) has the older name of the dump program.
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
    """An upgrade: the cluster file with the new release, and the connection to the hosts."""

    path: Path
    cluster: Cluster  # with the new version
    remote: Remote
    when: str
    clock: Clock = field(default_factory=SystemClock)

    @property
    def target(self) -> str:
        """Return the new release of Slurm."""
        return self.cluster.software.slurm

    def run(self, host: str, command: str, *, timeout_s: float = 60) -> CommandResult:
        """Run a shell command on a host as root and return its result; a failure, or the time limit, is not raised."""
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def control(self, command: str, *, timeout_s: float = 60) -> CommandResult:
        """Run a command as root on the control host, where slurmctld runs, and return its result."""
        return self.run(self.cluster.control.name, command, timeout_s=timeout_s)

    def backup_folder(self) -> str:
        """Return the folder of this upgrade's backups, on the host of the daemon."""
        return f"{BACKUP_FOLDER}/{self.when}"

    def has_new(self, host: str) -> bool:
        """Return True if the host's Slurm programs have the new release; False also if the host does not respond."""
        return is_of(version_of(self.run(host, VERSION).out), self.target)


def version_of(text: str) -> str:
    """Return the version in output such as `slurm-wlm 24.11.5`: `24.11.5`; empty if it has none."""
    match = re.search(r"slurm\S* (\d+\.\d+[\w.]*)", text)
    return match[1] if match else ""


def versions(task: Upgrade) -> dict[str, str]:
    """Return the Slurm version of every host.

    Raises:
        WrightError: hosts do not respond or have no Slurm; an upgrade covers all hosts.
    """
    names = task.cluster.permanent_hosts()
    results = fan_out(names, lambda host: task.run(host, VERSION))
    version_by_host = {host: version_of(result.out) for host, result in results.items()}
    unresponsive = [host for host, version in version_by_host.items() if not version]
    if unresponsive:
        missing = _("Slurm is not installed")
        errors_text = "\n".join(f"{host}: {results[host].last_lines(1) or missing}" for host in unresponsive)
        raise WrightError.from_code(
            "upgrade-silent",
            _(
                "the Slurm version of {hosts} is unknown:\n{errors}",
                hosts=fold(unresponsive),
                errors=errors_text,
            ),
            _("fix these errors, or remove the hosts first with `wright remove-hosts`"),
        )
    return version_by_host


def refuse_without_packages(task: Upgrade, hosts: tuple[str, ...]) -> None:
    """Check that every host's package manager has the new release, before any daemon is stopped.

    Raises:
        WrightError: a host's package manager lacks it; with the versions that it has.
    """
    missing = {
        host: error for host, error in fan_out(hosts, lambda host: _packages(task, host)).items() if error
    }
    if missing:
        errors_text = "\n".join(f"{fold([host])}: {reason}" for host, reason in missing.items())
        raise WrightError.from_code(
            "upgrade-no-packages",
            _(
                "packages of Slurm {target} are not available on {hosts}:\n{errors}",
                target=task.target,
                hosts=fold(list(missing)),
                errors=errors_text,
            ),
            _(
                "add their repository to software.repositories in the cluster file, run `wright apply`, "
                "then run this command again"
            ),
        )


def _packages(task: Upgrade, host: str) -> str:
    """Return why the host's package manager lacks the new release of Slurm; "" if it offers it.

    Package lists of apt are updated meanwhile.
    """
    if task.cluster.on(task.cluster.host(host)).platform.package_manager == "dnf":
        result = task.run(host, f"dnf -q list --showduplicates slurm-{task.target}*", timeout_s=300)
        return "" if result.ok else result.last_lines(2)
    available = _("none")
    for _ignored in range(MAX_ATTEMPTS):  # while another apt runs, `apt-get update` does not read the lists
        result = task.run(host, "apt-cache madison slurm-client slurm-smd-client")
        rows = [line.split("|")[1].strip() for line in split_lines(result.out) if line.count("|") > 1]
        if any(is_of(row.split(":")[-1], task.target) for row in rows):
            return ""
        available = ", ".join(rows) or available
        task.run(host, "apt-get -qq update", timeout_s=300)
        task.clock.sleep(1)
    return _("available versions: {versions}", versions=available)


def running(task: Upgrade) -> dict[str, Job]:
    """Return running jobs by ID.

    Raises:
        WrightError: slurmctld does not respond.
    """
    control = task.cluster.control.name
    jobs = parse_queue(checked(task.control(QUEUE), control, "squeue").out, FIELDS)
    return {job.id: job for job in jobs if job.state == "RUNNING"}


def do(
    task: Upgrade, step: UpgradeStep, previous_jobs: dict[str, Job], on_progress: ProgressCallback
) -> ChangeReport:
    """Upgrade the hosts of one step (back up, install by an apply, verify daemons and jobs); return the apply's report.

    After a failed installation the daemons are started again.

    Raises:
        WrightError: the step failed; earlier steps stay done, and the same command continues with this one.
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
                "the new release could not be installed on {hosts}:\n{errors}",
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
                _("jobs {jobs} ran before this step and no longer run", jobs=", ".join(missing_jobs)),
            )
    return report


def verify(task: Upgrade, step: UpgradeStep) -> None:
    """Verify that the step's daemons respond with the new release.

    Raises:
        WrightError: they do not within the timeout.
    """
    _CHECKS[step.kind](task, step)


def back_up_state(task: Upgrade, step: UpgradeStep, on_progress: ProgressCallback) -> None:
    """Stop the host's daemons, which stay stopped, back up their state or database, and verify the backups.

    No effect on a host that has the new release.

    Raises:
        WrightError: a backup failed; the old daemons run again.
    """
    (host,) = step.hosts
    if task.has_new(host):
        return  # backed up before its upgrade, by this run or an interrupted one
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
                    "{host}: backup {name} failed: {error}",
                    host=host,
                    name=name,
                    error=result.last_lines(3) or _("the backup is incomplete"),
                ),
            )
        on_progress(
            _(
                "{host}: backup written and verified: {folder}/{name}, {size}",
                host=host,
                folder=task.backup_folder(),
                name=name,
                size=human_size(int(result.out.split()[0]) * KiB),
            )
        )


def _backup_items(task: Upgrade, host: str) -> list[tuple[str, str, str]]:
    """Return unit, backup file and script of the host's daemons, slurmctld first: it stops first and starts last."""
    items = []
    if any(control_host.name == host for control_host in task.cluster.hosts("control")):
        items.append(("slurmctld.service", "state.tar.gz", _COPY))
    if task.cluster.accountant and task.cluster.accountant.name == host:
        items.append(("slurmdbd.service", "accounting.sql.gz", _DUMP))
    return items


def restart_units(task: Upgrade, step: UpgradeStep) -> None:
    """Start slurmdbd and slurmctld on the step's hosts after `back_up_state` stopped them; errors are ignored."""
    for host in step.hosts:
        for unit, _name, _script in reversed(_backup_items(task, host)):
            task.run(host, f"systemctl start {unit}", timeout_s=120)


def lost_jobs(task: Upgrade, previous_jobs: dict[str, Job]) -> list[str]:
    """Return the IDs of jobs that ran before and are now pending, failed by a host or unknown to slurmctld.

    Empty if none.
    """
    control = task.cluster.control.name
    jobs = parse_queue(checked(task.control(QUEUE), control, "squeue").out, FIELDS)
    well = {job.id for job in jobs if not job.is_pending and job.state not in FAILED_BY_HOST}
    return [job for job in previous_jobs if job not in well]


def wait_for_check(
    task: Upgrade, step: UpgradeStep, test: Callable[[], str], limit_s: float = ANSWER_S
) -> None:
    """Repeat `test` until it returns no fault.

    Raises:
        WrightError: it still returns a fault after `limit_s`.
    """
    started = task.clock.monotonic()
    while reason := test():
        if task.clock.monotonic() - started > limit_s:
            raise _stopped(step, reason)
        task.clock.sleep(1)


def _slurmdbd(task: Upgrade, step: UpgradeStep) -> None:
    (host,) = step.hosts

    def wrong() -> str:
        if not task.has_new(host):
            return _("{host} does not have Slurm {target}", host=host, target=task.target)
        result = task.run(host, client.line(client.clusters()))
        if result.ok and result.out.strip():
            return ""
        return _("slurmdbd does not respond: {error}", error=result.last_lines(2))

    wait_for_check(task, step, wrong, CONVERT_S)


def _slurmctld(task: Upgrade, step: UpgradeStep) -> None:
    def wrong() -> str:
        result = task.control(client.line(client.show_config()))
        match = re.search(r"(?m)^SLURM_VERSION\s*= (\S+)", result.out)
        if match is None:
            return _("slurmctld does not respond: {error}", error=result.last_lines(2))
        return (
            ""
            if is_of(match[1], task.target)
            else _("slurmctld still runs Slurm {version}", version=match[1])
        )

    wait_for_check(task, step, wrong)


def _slurmd(task: Upgrade, step: UpgradeStep) -> None:
    def wrong() -> str:
        nodes = parse_nodes(task.control(client.line(client.show_nodes(step.hosts))).out)
        for host in step.hosts:
            node = nodes.get(host)
            version = node.record["Version"] if node else ""
            if not node or not is_of(version, task.target):
                return _(
                    "slurmctld reports version {version} for {host}", host=host, version=version or _("none")
                )
            if not node.state.is_up or node.state.is_invalid:
                return _("slurmctld reports state {state} for {host}", host=host, state=node.state.text)
        return ""

    wait_for_check(task, step, wrong)


def _clients(task: Upgrade, step: UpgradeStep) -> None:
    def wrong() -> str:
        unresponsive = [
            host for host in step.hosts if not task.run(host, client.line(client.node_states())).ok
        ]
        return _("sinfo does not respond on {hosts}", hosts=fold(unresponsive)) if unresponsive else ""

    wait_for_check(task, step, wrong)


_CHECKS: dict[str, Callable[[Upgrade, UpgradeStep], None]] = {
    "slurmdbd": _slurmdbd, "slurmctld": _slurmctld, "slurmd": _slurmd, "clients": _clients,
}  # fmt: skip


def _stopped(step: UpgradeStep, reason: str) -> WrightError:
    return WrightError.from_code(
        "upgrade-stopped",
        _(
            "the upgrade stopped at {kind} on {hosts}: {reason}",
            kind=step.kind,
            hosts=fold(step.hosts),
            reason=reason,
        ),
        _(
            "fix the cause, then run the command again: it continues with this step; later hosts are unchanged"
        ),
    )
