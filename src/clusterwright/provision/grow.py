"""Hosts join a running cluster: they are made ready while nothing runs there, and only then is Slurm told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config.names import fold
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.provision.apply import apply
from clusterwright.provision.change.fields import ClusterFile
from clusterwright.provision.report import Report
from clusterwright.slurm import client
from clusterwright.slurm.nodes import parse_sinfo
from clusterwright.slurm.states import parse_node_state

# slurmd waits up to 30 s between two tries to register with a slurmctld that did not know it.
READY_S = 90

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Growth:
    """The hosts to add, the file as it is to be, and where it lies."""

    path: Path
    cluster_file: ClusterFile
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """What became of it: the new hosts, then all others; the states in which Slurm sees the new ones."""

    new: Report
    other_report: Report | None
    states: dict[str, str]

    @property
    def ok(self) -> bool:
        """True when every host is as wanted, and Slurm has the new ones."""
        is_applied = self.new.ok and self.other_report is not None and self.other_report.ok
        return is_applied and all(is_ready(state) for state in self.states.values())


def preview(growth: Growth, remote: Remote) -> Report:
    """What the whole change would do; all new hosts have to answer before anything is changed.

    Raises:
        WrightError: new hosts that do not answer, each with its words.
    """
    report = apply(growth.cluster_file.cluster, str(growth.path), remote, dry_run=True)
    unresponsive = [host for host in report.hosts if host.host in growth.hosts and not host.ok]
    if unresponsive:
        errors_text = "\n".join(f"{host.host}: {host.error}" for host in unresponsive)
        raise WrightError.from_code(
            "new-hosts-silent",
            _(
                "of the new hosts {fold} did not answer as a host should:\n{errors_text}",
                fold=fold([host.host for host in unresponsive]),
                errors_text=errors_text,
            ),
            _("fix that, or leave them out; the file and the cluster are as they were"),
        )
    return report


def grow(
    growth: Growth, remote: Remote, on_progress: ProgressCallback, *, clock: Clock | None = None
) -> Grown:
    """New hosts first, then the file, then all others: control hosts, and the rest as an apply does.

    Each step may be cut short: the same command then goes on where it stopped.
    """
    clock = clock or SystemClock()
    cluster, source = growth.cluster_file.cluster, str(growth.path)
    on_progress(_("{fold}: made ready, while nothing runs there", fold=fold(growth.hosts)))
    new = apply(cluster, source, remote, only=frozenset(growth.hosts))
    if not new.ok:
        return Grown(new, None, {})
    if growth.path.read_text() != growth.cluster_file.source.text:
        write_file_atomic(
            growth.path, growth.cluster_file.source.text, mode=growth.path.stat().st_mode & 0o777
        )
        on_progress(f"{growth.path}: written")
    on_progress(_("the others: told of the new hosts"))
    other_report = apply(cluster, source, remote)
    if not other_report.ok and cluster.control.name in {
        host.host for host in other_report.hosts if not host.ok
    }:
        return Grown(new, other_report, {})
    compute = tuple(host for host in growth.hosts if cluster.host(host).group.role == "compute")
    return Grown(new, other_report, wait_for(remote, cluster.control.name, compute, clock))


def wait_for(remote: Remote, control: str, hosts: tuple[str, ...], clock: Clock) -> dict[str, str]:
    """The states of the hosts, as soon as Slurm can use all of them, or when it should have long ago."""
    started = clock.monotonic()
    while True:
        host_states = states(remote, control, hosts)
        if all(is_ready(state) for state in host_states.values()) or clock.monotonic() - started > READY_S:
            return host_states
        clock.sleep(1)


def states(remote: Remote, control: str, hosts: tuple[str, ...]) -> dict[str, str]:
    """Slurm's word for each host's state; a `*` says that it does not answer, `UNKNOWN` that there is no such host."""
    if not hosts:
        return {}
    nodes = parse_sinfo(Host(remote, control).run(client.line(client.node_states(hosts))).out)
    return {host: nodes[host].record["State"].upper() if host in nodes else "UNKNOWN" for host in hosts}


def is_ready(state: str) -> bool:
    """True when Slurm gives jobs to a host in this state."""
    return parse_node_state(state).is_available
