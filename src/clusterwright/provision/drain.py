"""Hosts taken out of Slurm's hands for a change, and given back: never over another person's reason."""

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
    """True when no new job starts there by somebody's word."""
    return node.state.is_drained or node.state.is_down


def is_ours(node: Node) -> bool:
    """True when an apply of ours drained it, this one or one before that was cut short."""
    return node.state.is_drained and node.reason.startswith(APPLY)


def is_mismatched(node: Node) -> bool:
    """True when Slurm itself took it out, because it had less than its files declare."""
    return parse_drain_reason(node.reason).is_mismatch


def jobs_on(jobs: Iterable[Job]) -> dict[str, list[str]]:
    """Ids of the jobs that hold each host, those that are just ending too."""
    jobs_by_host: dict[str, list[str]] = {}
    for job in jobs:
        if job.is_allocated and job.hosts:
            for host in expand(job.hosts):
                jobs_by_host.setdefault(host, []).append(job.id)
    return jobs_by_host


@dataclass(slots=True)
class Drains:
    """What is drained for one apply, by the commands of the control host."""

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
        """Jobs by host; None where slurmctld does not answer: that is not the same as no jobs."""
        result = self._run(client.queue(FIELDS))
        return jobs_on(parse_queue(result.out, FIELDS)) if result.ok else None

    def drain(self, hosts: Iterable[str]) -> dict[str, str]:
        """No new job starts on these hosts; those where that could not be done, and why."""
        nodes = self._nodes()
        target_hosts = [host for host in hosts if host in nodes and not is_out(nodes[host])]
        if not target_hosts:
            return dict.fromkeys(hosts, _("Slurm does not answer")) if not nodes else {}
        result = self._run(client.drain(fold(target_hosts), f"{APPLY} {self.when}"))
        if not result.ok:
            return dict.fromkeys(
                target_hosts, _("it could not be drained: {last_lines}", last_lines=result.last_lines(2))
            )
        self.on_progress(_("{hosts}: drained, no new job starts there", hosts=fold(target_hosts)))
        return {}

    def wait(self, hosts: list[str]) -> dict[str, list[str]]:
        """Until no job is on any of these, or the time is over: the jobs that are still there, by host."""
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
                    _("{fold}: waiting for jobs {jobs}", fold=fold(list(busy_hosts)), jobs=", ".join(jobs))
                )
            self.clock.sleep(POLL_S)
            self._waited += POLL_S

    def resume(self, hosts: Iterable[str]) -> tuple[str, ...]:
        """Those of these hosts that we drained, now or in an apply that was cut short, take jobs again."""
        nodes = self._nodes()
        target_hosts = [host for host in hosts if host in nodes and is_ours(nodes[host])]
        if target_hosts:
            result = self._run(client.resume(fold(target_hosts)))
            self.on_progress(
                f"{fold(target_hosts)}: {'back in service' if result.ok else f'not resumed: {result.last_lines(2)}'}"
            )
        return tuple(target_hosts)

    def operator_drained(self) -> frozenset[str]:
        """Hosts that a person keeps out of service."""
        nodes = self._nodes()
        return frozenset(
            name
            for name, node in nodes.items()
            if is_out(node) and not is_ours(node) and not is_mismatched(node)
        )

    def settle(self, hosts: list[str], operator_drained: frozenset[str]) -> dict[str, str]:
        """Hosts whose slurmd has new files are in service again; those that Slurm still refuses, with its reason.

        slurmctld had the new files before them, and takes a host out that registers with less than it expects.
        """
        end = self.clock.monotonic() + SETTLE_S
        while True:
            nodes = self._nodes()
            refused = {host: nodes[host] for host in hosts if host in nodes and nodes[host].state.is_invalid}
            if not refused or self.clock.monotonic() >= end:
                break
            self.clock.sleep(SETTLE_POLL_S)
        out = [host for host in hosts if host in nodes and is_out(nodes[host]) and is_mismatched(nodes[host])]
        back = [host for host in out if host not in operator_drained and host not in refused]
        if back:
            self._run(client.resume(fold(back)))
            self.on_progress(
                _("{fold}: Slurm had the new files first and took it out; back in service", fold=fold(back))
            )
        return {host: _("Slurm refuses it: {reason}", reason=node.reason) for host, node in refused.items()}
