"""Drain hosts for a change and resume them; nodes that somebody else drained stay drained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.slurm import FIELDS
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import APPLY, parse_drain_reason
from clusterwright.slurm.jobs import Job, parse_queue
from clusterwright.slurm.nodes import Node, parse_sinfo

POLL_S = 5.0
SETTLE_S, SETTLE_POLL_S = 20.0, 1.0  # a slurmd that was restarted registers within a second or two

ProgressCallback = Callable[[str], None]


def is_out(node: Node) -> bool:
    """Return whether the node is drained or down, so that no new job starts on it."""
    return node.state.is_drained or node.state.is_down


def is_ours(node: Node) -> bool:
    """Return whether an apply drained the node: this one, or an interrupted one before."""
    return node.state.is_drained and node.reason.startswith(APPLY)


def is_mismatched(node: Node) -> bool:
    """Return whether slurmctld drained the node because it has less than slurm.conf declares."""
    return parse_drain_reason(node.reason).is_mismatch


def jobs_on(jobs: Iterable[Job]) -> dict[str, list[str]]:
    """Return the IDs of the jobs allocated on each host, completing ones included."""
    jobs_by_host: dict[str, list[str]] = {}
    for job in jobs:
        if job.is_allocated and job.hosts:
            for host in expand(job.hosts):
                jobs_by_host.setdefault(host, []).append(job.id)
    return jobs_by_host


@dataclass(slots=True)
class Drains:
    """Drains of one apply, by Slurm commands on the control host."""

    cluster: Cluster
    remote: Remote
    clock: Clock
    wait_s: float
    on_progress: ProgressCallback
    when: str
    _waited: float = field(default=0.0)

    def _run(self, argv: list[str]) -> CommandResult:
        return Host(self.remote, self.cluster.control.name).run_root(client.line(argv))

    def _nodes(self) -> dict[str, Node]:
        return parse_sinfo(self._run(client.node_states()).out)

    def busy(self) -> dict[str, list[str]] | None:
        """Return the IDs of jobs by host; None if slurmctld does not respond, an empty dict without jobs."""
        result = self._run(client.queue(FIELDS))
        return jobs_on(parse_queue(result.out, FIELDS)) if result.ok else None

    def drain(self, hosts: Iterable[str]) -> dict[str, str]:
        """Drain the hosts; return the error by host of those that could not be drained, empty if all could be.

        Hosts that are out of service already or unknown to Slurm are passed over.
        """
        nodes = self._nodes()
        target_hosts = [host for host in hosts if host in nodes and not is_out(nodes[host])]
        if not target_hosts:
            return dict.fromkeys(hosts, _("slurmctld does not respond")) if not nodes else {}
        result = self._run(client.drain(fold(target_hosts), f"{APPLY} {self.when}"))
        if not result.ok:
            return dict.fromkeys(
                target_hosts, _("the host could not be drained: {error}", error=result.last_lines(2))
            )
        self.on_progress(_("{hosts}: drained, no new job starts on these hosts", hosts=fold(target_hosts)))
        return {}

    def wait(self, hosts: list[str]) -> dict[str, list[str]]:
        """Wait until these hosts have no jobs, or `wait_s` is over.

        Return the remaining job IDs by host, empty if none. `wait_s` is the total of all calls. While slurmctld does
        not respond, the ID of every host is `?`.
        """
        reported_jobs: dict[str, list[str]] = {}
        while True:
            busy = self.busy()
            busy_hosts = {
                host: ["?"] if busy is None else busy[host] for host in hosts if busy is None or host in busy
            }
            if not busy_hosts or self._waited >= self.wait_s:
                return busy_hosts
            if busy_hosts != reported_jobs:
                reported_jobs = busy_hosts
                jobs = sorted({job for ids in busy_hosts.values() for job in ids})
                self.on_progress(
                    _("{hosts}: waiting for jobs {jobs}", hosts=fold(list(busy_hosts)), jobs=", ".join(jobs))
                )
            self.clock.sleep(POLL_S)
            self._waited += POLL_S

    def resume(self, hosts: Iterable[str]) -> tuple[str, ...]:
        """Resume in Slurm those of these hosts that this apply or an interrupted one drained.

        Return these hosts, also if that failed.
        """
        nodes = self._nodes()
        target_hosts = [host for host in hosts if host in nodes and is_ours(nodes[host])]
        if target_hosts:
            result = self._run(client.resume(fold(target_hosts)))
            hosts, error = fold(target_hosts), result.last_lines(2)
            failure = _("{hosts}: could not be resumed: {error}", hosts=hosts, error=error)
            self.on_progress(_("{hosts}: back in service", hosts=hosts) if result.ok else failure)
        return tuple(target_hosts)

    def operator_drained(self) -> frozenset[str] | None:
        """Return hosts that are drained or down, but neither by an apply nor by slurmctld for a mismatch.

        None if slurmctld does not respond.
        """
        nodes = self._nodes()
        if not nodes:
            return None
        return frozenset(
            name
            for name, node in nodes.items()
            if is_out(node) and not is_ours(node) and not is_mismatched(node)
        )

    def settle(self, hosts: list[str], operator_drained: frozenset[str] | None) -> dict[str, str]:
        """Wait until Slurm accepts hosts, and resume those that slurmctld drained while their slurmd had old files.

        Return those still out, and why. slurmctld gets new files first, and drains a host that registers with less than
        these declare. Waits up to SETTLE_S. Hosts in `operator_drained` are neither resumed nor returned; if it is None
        (unknown), none is resumed.
        """
        end = self.clock.monotonic() + SETTLE_S
        while True:
            nodes = self._nodes()
            refused = {host: nodes[host] for host in hosts if host in nodes and nodes[host].state.is_invalid}
            if not refused or self.clock.monotonic() >= end:
                break
            self.clock.sleep(SETTLE_POLL_S)
        out = [host for host in hosts if host in nodes and is_out(nodes[host]) and is_mismatched(nodes[host])]
        rejected = {
            host: _("Slurm rejects the host: {reason}", reason=node.reason) for host, node in refused.items()
        }
        if operator_drained is None:
            unknown = _(
                "the host stays drained, because slurmctld did not respond before the change: an operator may have "
                "drained the host before"
            )
            return dict.fromkeys(out, unknown) | rejected
        back = [host for host in out if host not in operator_drained and host not in refused]
        if back:
            self._run(client.resume(fold(back)))
            self.on_progress(
                _(
                    "{hosts}: drained by slurmctld until slurmd had the new files; back in service",
                    hosts=fold(back),
                )
            )
        return rejected
