"""Parse Slurm's output into nodes and jobs; pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clusterwright.config.names import expand_valid
from clusterwright.heal.observation import FaultFinding, HostStatus, JobStatus
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import DrainReason, parse_drain_reason
from clusterwright.slurm.job_records import parse_job
from clusterwright.slurm.jobs import parse_queue
from clusterwright.slurm.nodes import Node, parse_node, parse_undamaged_nodes
from clusterwright.slurm.records import NOTHING
from clusterwright.slurm.states import FAILED_BY_HOST, is_allocated

_FIELDS = ("id", "state", "user", "excluded", "hosts")
NODES = client.line(client.show_nodes())
JOBS = client.line(client.queue(_FIELDS))
ENDED_BADLY = FAILED_BY_HOST | {"FAILED"}


def node_of(line: str) -> HostStatus:
    """Parse one line of `scontrol show node -o`."""
    return _status(parse_node(line))


def _status(node: Node) -> HostStatus:
    reason = parse_drain_reason(node.reason)
    holder = _holder(reason) if node.reason and node.state.is_out_of_service else "free"
    return HostStatus(node.name, node.state, holder, reason.text, node.partitions, signed=node.reason)


def _holder(reason: DrainReason) -> str:
    return reason.command if reason.command in ("heal", "spare") else reason.origin


def nodes_of(text: str, jobs: Mapping[str, JobStatus]) -> dict[str, HostStatus]:
    """Return every node by name, with its allocated jobs; nodes with a damaged record are left out."""
    on: dict[str, list[str]] = {}
    for job in jobs.values():
        for host in job.hosts if is_allocated(job.state) else ():
            on.setdefault(host, []).append(job.id)
    statuses = map(_status, parse_undamaged_nodes(text).values())
    return {node.name: node.holding(tuple(on.get(node.name, ()))) for node in statuses}


def jobs_of(text: str) -> dict[str, JobStatus]:
    """Return every job in the queue's output by its id, with state, hosts and user.

    Its requeue settings are read later, where needed.
    """
    return {
        job.id: JobStatus(
            job.id, job.state, _expanded(job.hosts), excludes=_expanded(job.excluded), user=job.user
        )
        for job in parse_queue(text, _FIELDS)
    }


def with_record(job: JobStatus, text: str) -> JobStatus:
    """Return the job with its requeue settings and restarts, from its record by `scontrol show job -o`."""
    record = parse_job(text)
    can_requeue = record["Requeue"] == "1" and record["BatchFlag"] == "1"
    return job.with_requeue(can_requeue=can_requeue, restarts=record.number("Restarts"))


def _expanded(hostlist: str) -> tuple[str, ...]:
    return () if hostlist in NOTHING else expand_valid(hostlist)


def findings_of(nodes: Iterable[HostStatus]) -> Iterator[FaultFinding]:
    """Yield the faults that Slurm's and health checks' drain reasons report, and `not-heard` of unresponsive nodes.

    The latter only of nodes that are out of service, do not change state, and that nobody but heal drained. Nodes that
    somebody else drained have no faults.
    """
    for node in nodes:
        faults = parse_drain_reason(node.signed).faults
        if node.holder == "health":
            yield from (FaultFinding(node.name, "health", code, text) for code, text in faults)
        elif node.holder == "slurm":
            yield from (
                FaultFinding(node.name, "slurm", fault.code, f"{fault.text} ({node.state.text})")
                for fault in faults
            )
        if node.out and not node.state.is_up and not node.changing and node.holder in ("free", "heal"):
            text = _("slurmd does not respond to slurmctld ({state})", state=node.state.text)
            yield FaultFinding(node.name, "slurm", "not-heard", text)
