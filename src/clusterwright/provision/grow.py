"""Add hosts to a running cluster: provision them first, then add them to Slurm."""

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
from clusterwright.provision.report import ChangeReport
from clusterwright.slurm import client
from clusterwright.slurm.nodes import parse_sinfo
from clusterwright.slurm.states import parse_node_state

# slurmd retries its registration after up to 30 s if slurmctld rejected it as unknown.
READY_S = 90

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Growth:
    """An addition of hosts: the hosts, the cluster file with them, and its path."""

    path: Path
    cluster_file: ClusterFile
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grown:
    """The result of adding hosts: reports of the new hosts and all others, and the new hosts' Slurm node states."""

    new: ChangeReport
    other_report: ChangeReport | None
    states: dict[str, str]

    @property
    def ok(self) -> bool:
        """Return True if both applies succeeded on every host and Slurm schedules jobs on the new ones."""
        is_applied = self.new.ok and self.other_report is not None and self.other_report.ok
        return is_applied and all(is_ready(state) for state in self.states.values())


def preview(growth: Growth, remote: Remote) -> ChangeReport:
    """Return the report of what adding the hosts would change, without changing anything; old hosts' errors are in it.

    Raises:
        WrightError: the dry run failed on new hosts, which may not respond; with each host's error.
    """
    report = apply(growth.cluster_file.cluster, str(growth.path), remote, dry_run=True)
    unresponsive = [host for host in report.hosts if host.host in growth.hosts and not host.ok]
    if unresponsive:
        errors_text = "\n".join(f"{host.host}: {host.error}" for host in unresponsive)
        raise WrightError.from_code(
            "new-hosts-silent",
            _(
                "new hosts {hosts} cannot be provisioned:\n{errors}",
                hosts=fold([host.host for host in unresponsive]),
                errors=errors_text,
            ),
            _("fix these errors, or omit the hosts; the cluster file and the cluster are unchanged"),
        )
    return report


def grow(
    growth: Growth, remote: Remote, on_progress: ProgressCallback, *, clock: Clock | None = None
) -> Grown:
    """Apply the new hosts, write the cluster file if it differs, then apply all other hosts and wait for the new ones.

    Return both reports, and what the wait returned. It stops, and returns what it has, if a new host or the control
    host fails. After an interruption the same call continues where it stopped.
    """
    clock = clock or SystemClock()
    cluster, source = growth.cluster_file.cluster, str(growth.path)
    on_progress(_("{hosts}: provisioning; Slurm does not have these hosts yet", hosts=fold(growth.hosts)))
    new = apply(cluster, source, remote, only=frozenset(growth.hosts))
    if not new.ok:
        return Grown(new, None, {})
    if growth.path.read_text() != growth.cluster_file.source.text:
        write_file_atomic(
            growth.path, growth.cluster_file.source.text, mode=growth.path.stat().st_mode & 0o777
        )
        on_progress(_("{path}: written", path=growth.path))
    on_progress(_("other hosts: adding the new hosts to their configuration"))
    other_report = apply(cluster, source, remote)
    if not other_report.ok and cluster.control.name in {
        host.host for host in other_report.hosts if not host.ok
    }:
        return Grown(new, other_report, {})
    compute = tuple(host for host in growth.hosts if cluster.host(host).group.role == "compute")
    return Grown(new, other_report, wait_for(remote, cluster.control.name, compute, clock))


def wait_for(remote: Remote, control: str, hosts: tuple[str, ...], clock: Clock) -> dict[str, str]:
    """Wait until Slurm can schedule jobs on all these hosts, at most 90 s; return each host's node state by then."""
    started = clock.monotonic()
    while True:
        host_states = states(remote, control, hosts)
        if all(is_ready(state) for state in host_states.values()) or clock.monotonic() - started > READY_S:
            return host_states
        clock.sleep(1)


def states(remote: Remote, control: str, hosts: tuple[str, ...]) -> dict[str, str]:
    """Return each host's node state from sinfo.

    `*`: not responding, `UNKNOWN`: Slurm has no such node, or does not respond.
    """
    if not hosts:
        return {}
    nodes = parse_sinfo(Host(remote, control).run(client.line(client.node_states(hosts))).out)
    return {host: nodes[host].record["State"].upper() if host in nodes else "UNKNOWN" for host in hosts}


def is_ready(state: str) -> bool:
    """Return whether Slurm schedules jobs on a node in this state (sinfo's word)."""
    return parse_node_state(state).is_available
