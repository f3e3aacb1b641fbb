"""Remove hosts from a running cluster: drain them, remove them from the cluster file and Slurm, stop slurmd."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clusterwright.config.names import expand, fold
from clusterwright.config.reader import read
from clusterwright.edge.bundler import PROVISION
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.secrets import state_folder
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote, fan_out
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.apply import apply
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.change.fields import ClusterFile
from clusterwright.provision.change.hosts import without_hosts
from clusterwright.provision.drain import is_out
from clusterwright.provision.render.hosts_file import hosts_file
from clusterwright.provision.report import ChangeReport
from clusterwright.provision.resources import File, RoleContext
from clusterwright.provision.work import stamp
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import REMOVE_HOSTS
from clusterwright.slurm.nodes import parse_sinfo
from clusterwright.slurm.records import parse_records

POLL_S = 2  # one squeue every two seconds costs slurmctld nothing

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal of hosts from a cluster: the hosts, and how long to wait for their jobs."""

    path: Path
    cluster_file: ClusterFile
    hosts: tuple[str, ...]
    wait_s: float
    cancel: bool = False
    purge: bool = False

    @property
    def control(self) -> str:
        """Return the control host, where Slurm commands run."""
        return self.cluster_file.cluster.control.name

    def run_slurm(self, remote: Remote, argv: list[str]) -> CommandResult:
        """Run a Slurm command as root on the control host and return its result.

        Raises:
            WrightError: the command failed.
        """
        result = Host(remote, self.control).run_root(client.line(argv))
        return checked(result, self.control, argv[0])


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """The report of the remaining hosts, and the errors of removed hosts where slurmd could not be stopped."""

    other_report: ChangeReport
    failed_hosts: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return True if the remaining hosts have their desired state; a removed host that is off may be unreached."""
        return self.other_report.ok


def refuse_reserved(removal: Removal, remote: Remote) -> None:
    """Refuse hosts that are in a Slurm reservation, manual ones included.

    Raises:
        WrightError: a host is in a reservation, or slurmctld does not respond.
    """
    result = removal.run_slurm(remote, client.show_reservations())
    for row in parse_records(result.out, "ReservationName"):
        reserved_hosts = set(removal.hosts).intersection(expand(row["Nodes"]) if row["Nodes"] else ())
        if reserved_hosts:
            raise WrightError.from_code(
                "host-needed",
                _(
                    "{hosts} is in Slurm reservation `{reservation}`",
                    hosts=fold(sorted(reserved_hosts)),
                    reservation=row["ReservationName"],
                ),
                _(
                    "run `scontrol delete ReservationName={reservation}`, or change its Nodes, first",
                    reservation=row["ReservationName"],
                ),
            )


def remove_hosts(
    removal: Removal, remote: Remote, on_progress: ProgressCallback, *, clock: Clock | None = None
) -> RemovalResult:
    """Drain the hosts, wait for their jobs, stop slurmd, and remove the hosts from cluster file and Slurm.

    After an interruption the same command continues. Hosts on which slurmd could not be stopped are removed, too,
    and are named in the returned result.

    Raises:
        WrightError: jobs still run after the wait; the hosts stay drained.
    """
    present = tuple(
        host
        for host in removal.hosts
        if host in {cluster_host.name for cluster_host in removal.cluster_file.cluster.hosts()}
    )
    if present:
        remember(removal.cluster_file.cluster.name, removal.hosts)
        drain_and_wait(removal, present, remote, on_progress, clock or SystemClock())
        text = without_hosts(removal.cluster_file, present)
        new_file = ClusterFile.from_source(read(text, removal.cluster_file.source.file))
    failed_hosts = stop(removal, remote, on_progress)
    if present:
        write_file_atomic(removal.path, text, mode=removal.path.stat().st_mode & 0o777)
        on_progress(_("{path}: written without {hosts}", path=removal.path, hosts=fold(present)))
    cluster = new_file.cluster if present else removal.cluster_file.cluster
    other_report = apply(cluster, str(removal.path), remote)
    if other_report.ok:
        forget(cluster.name, removal.hosts)
    return RemovalResult(other_report, failed_hosts)


def drain_and_wait(
    removal: Removal, hosts: tuple[str, ...], remote: Remote, on_progress: ProgressCallback, clock: Clock
) -> None:
    """Drain the hosts and wait until their jobs have ended; with `removal.cancel`, cancel the jobs first.

    Then the wait has no limit. Hosts that are out of service already keep their reason.

    Raises:
        WrightError: jobs still run after the wait.
    """
    nodes = parse_sinfo(removal.run_slurm(remote, client.node_states()).out)
    free = [host for host in hosts if host in nodes and not is_out(nodes[host])]  # others keep their reason
    if free:
        removal.run_slurm(remote, client.drain(",".join(free), REMOVE_HOSTS))
    on_progress(_("{hosts}: drained, no new job starts on these hosts", hosts=fold(hosts)))
    if removal.cancel and (jobs := jobs_on(removal, hosts, remote)):
        on_progress(_("canceling jobs {jobs}", jobs=", ".join(jobs)))
        removal.run_slurm(remote, client.cancel(jobs))
    started, reported_jobs = clock.monotonic(), tuple[str, ...]()
    while jobs := jobs_on(removal, hosts, remote):
        if clock.monotonic() - started >= removal.wait_s and not removal.cancel:
            raise _busy(hosts, jobs)
        if jobs != reported_jobs:
            on_progress(_("waiting for jobs {jobs}", jobs=", ".join(jobs)))
            reported_jobs = jobs
        clock.sleep(POLL_S)


def jobs_on(removal: Removal, hosts: tuple[str, ...], remote: Remote) -> tuple[str, ...]:
    """Return the IDs of the jobs allocated on these hosts, completing ones included.

    Raises:
        WrightError: slurmctld does not respond.
    """
    result = removal.run_slurm(remote, client.jobs_on(hosts))
    return tuple(sorted(set(result.out.split()), key=int))


def stop(removal: Removal, remote: Remote, on_progress: ProgressCallback) -> dict[str, str]:
    """Disable slurmd on the removed hosts and, with `purge`, remove our files; return failed hosts, and why.

    Each failure is also reported as progress; files of a host where slurmd could not be stopped stay.
    """
    command = "systemctl disable --now slurmd.service"
    results = fan_out(removal.hosts, lambda host: Host(remote, host).run_root(command, timeout_s=120))
    failed = {host: result.last_lines(2) for host, result in results.items() if not result.ok}
    if removal.purge:
        reached = [host for host in removal.hosts if host not in failed]
        failed |= {
            host: reason
            for host, reason in fan_out(reached, lambda host: _purge(removal, remote, host)).items()
            if reason
        }
    for host, reason in failed.items():
        on_progress(
            _(
                "note: {host}: slurmd was not stopped or Clusterwright's files were not purged ({reason}); "
                "if the host returns, Slurm rejects it",
                host=host,
                reason=reason,
            )
        )
    return failed


def _purge(removal: Removal, remote: Remote, host: str) -> str:
    """Remove our files except /etc/hosts and stop our units; return the error, or an empty text."""
    header = RoleContext.header()
    names = File(path="/etc/hosts", content=hosts_file(removal.cluster_file.cluster, header))
    order = bundle(Order("apply", removal.path.name, stamp(SystemClock())), [names])
    result = Host(remote, host).run_program(PROVISION, stdin=order, root=True, timeout_s=120)
    lines = [line for line in result.out.splitlines() if line.startswith(ANSWER)]
    if not lines:
        return result.last_lines(2)
    return str(parse_object(lines[-1].removeprefix(ANSWER)).get("error", _("the answer is malformed")))


def remembered(cluster: str) -> tuple[str, ...]:
    """Return the hosts of the cluster whose removal has started and is not complete, from a file on this machine."""
    journal = _journal(cluster)
    return tuple(json.loads(journal.read_text())) if journal.exists() else ()


def remember(cluster: str, hosts: tuple[str, ...]) -> None:
    """Record the hosts before any change, so that the command can continue once the file no longer has them."""
    everyone = dict.fromkeys((*remembered(cluster), *hosts))
    write_file_atomic(_journal(cluster), json.dumps([*everyone]))


def forget(cluster: str, hosts: tuple[str, ...]) -> None:
    """Remove hosts whose removal is complete from the record on this machine, and the record with its last host."""
    remaining_hosts = [host for host in remembered(cluster) if host not in hosts]
    if remaining_hosts:
        write_file_atomic(_journal(cluster), json.dumps(remaining_hosts))
    else:
        _journal(cluster).unlink(missing_ok=True)


def _journal(cluster: str) -> Path:
    return state_folder(cluster) / "leaving.json"


def _busy(hosts: tuple[str, ...], jobs: tuple[str, ...]) -> WrightError:
    names = fold(hosts)
    return WrightError.from_code(
        "hosts-busy",
        _(
            "jobs {jobs} still run on {hosts}; the hosts stay drained and the cluster file is unchanged",
            jobs=", ".join(jobs),
            hosts=names,
        ),
        _(
            "run the command again to continue waiting (--wait 12h) or with --cancel-jobs; to retain the "
            "hosts, run `scontrol update NodeName={hosts} State=RESUME`",
            hosts=names,
        ),
    )
