"""Metrics of Slurm's nodes, jobs and shares.

One query of the nodes and one of the queue, so that the figures are consistent.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from clusterwright.onhost.exporter import slurm_text
from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, gauge
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.nodes import Node, parse_nodes

EVERY_S, TIMEOUT_S, STAYS = 15.0, 45.0, False
LIMIT_S = 10.0  # seconds per command: Slurm's default MessageTimeout
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s"}
# Reasons of pending jobs that could run if resources were free.
COULD_RUN = ("Resources", "Priority", "")
_FREE = (
    "idle",
    "mixed",
    "allocated",
    "completing",
    "planned",
    "reserved",
)  # states in which unallocated resources are available
_SHARES = ["sshare", "-a", "-n", "-P", "-o", "Account,User,NormShares,EffectvUsage,FairShare"]


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if this host is the controller, where slurmctld runs."""
    return settings.control


def collect(_settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield Slurm's metrics: scheduler, nodes, partitions, jobs and shares.

    If slurmctld does not respond, only `slurm_up` 0: the collection has not failed.
    """
    up = gauge("slurm_up", "1 if slurmctld responds.")
    output = command_output(["sdiag"], LIMIT_S)
    yield up.add(float(output is not None))
    if output is None:
        return
    diagnostics = slurm_text.diagnosis(output)
    yield gauge("slurm_cycle_seconds", "Duration of the last main scheduling cycle.").add(
        diagnostics.get("cycle")
    )
    yield gauge("slurm_backfill_seconds", "Duration of the last backfill cycle.").add(
        diagnostics.get("backfill")
    )
    yield gauge("slurm_threads", "Server threads of slurmctld.").add(diagnostics.get("threads"))
    yield from of_nodes(
        parse_nodes(
            command_output(["scontrol", "-d", "-o", "show", "node"], LIMIT_S, ENVIRONMENT) or ""
        ).values()
    )
    yield from of_jobs(
        slurm_text.jobs(command_output(slurm_text.squeue(), LIMIT_S, ENVIRONMENT) or ""), time.time()
    )
    yield from of_shares(
        slurm_text.shares(command_output(_SHARES, LIMIT_S) or "")
    )  # empty without accounting


def of_nodes(nodes: Iterable[Node]) -> Iterator[Family]:
    """Yield each node's state, and nodes, CPUs and GPUs of each partition by state."""
    states = gauge("slurm_node_state", "1 for the node's present state.")
    info = gauge("slurm_node_drain_info", "1 for each drained node.")
    counts: Dict[str, Counter[Tuple[str, str]]] = {"nodes": Counter(), "cpus": Counter(), "gpus": Counter()}
    for node in nodes:
        state_name = node.state.short_state
        states.add(1, node=node.name, state=state_name)
        if node.state.is_drained:
            drain_reason = parse_drain_reason(node.reason)
            info.add(1, node=node.name, who=drain_reason.origin, reason=drain_reason.text)
        for partition in node.partitions:
            counts["nodes"][partition, state_name] += 1
            for name, total, allocated in (
                ("cpus", node.cpus, node.cpus_allocated),
                ("gpus", node.gpus, node.gpus_allocated),
            ):
                free = max(0, total - allocated)
                counts[name][partition, "allocated"] += min(allocated, total)
                counts[name][partition, "idle" if state_name in _FREE else "other"] += free
    yield from (states, info)
    for name, meaning in (
        ("nodes", "Nodes by state."),
        ("cpus", "CPUs by state: allocated, idle, other (unavailable)."),
        ("gpus", "GPUs by state: allocated, idle, other (unavailable)."),
    ):
        family = gauge(f"slurm_{name}", meaning)
        for (partition, state), count in sorted(counts[name].items()):
            family.add(count, partition=partition, state=state)
        yield family


def of_jobs(jobs: List[Job], now: float) -> Iterator[Family]:
    """Yield the number of jobs and of their GPUs, and the longest wait of a job that could run, in seconds.

    Each by partition and account, the numbers also by state.
    """
    count: Counter[Tuple[str, str, str]] = Counter()
    gpus: Counter[Tuple[str, str, str]] = Counter()
    waits: Dict[Tuple[str, str], float] = {}
    for job in jobs:
        partition = job.partition.partition(",")[0]
        key = (partition, job.account, job.state.lower())
        count[key] += 1
        gpus[key] += job.gpus
        eligible_at = max(_seconds(job.submit), _seconds(job.eligible))
        if job.is_pending and job.reason in COULD_RUN and eligible_at:
            waited = max(0.0, now - eligible_at)  # never negative, although clocks differ
            waits[partition, job.account] = max(waited, waits.get((partition, job.account), 0.0))
    for name, meaning, counted in (
        ("slurm_jobs", "Jobs; the pending tasks of an array count as one.", count),
        ("slurm_job_gpus", "GPUs that jobs have allocated or request.", gpus),
    ):
        family = gauge(name, meaning)
        for (partition, account, state), number in sorted(counted.items()):
            family.add(number, partition=partition, account=account, state=state)
        yield family
    longest = gauge(
        "slurm_wait_seconds", "Longest wait of a pending job that could run if resources were free."
    )
    for (partition, account), seconds in sorted(waits.items()):
        longest.add(round(seconds), partition=partition, account=account)
    yield longest


def _seconds(time: str) -> float:
    """Return a text of epoch seconds as a number, 0 if it is not one."""
    return float(ascii_int(time) or 0)


def of_shares(shares: List[slurm_text.Share]) -> Iterator[Family]:
    """Yield share, decayed usage and fairshare factor of each account as metrics."""
    share = gauge("slurm_share_ratio", "Share of the cluster that the account is entitled to.")
    use = gauge("slurm_use_ratio", "Recent usage of the account, decayed by Slurm.")
    fair = gauge("slurm_fairshare_ratio", "Fairshare factor of the account; the mean of its users.")
    for row in shares:
        share.add(row.share, account=row.account)
        use.add(row.use, account=row.account)
        fair.add(row.fairshare, account=row.account)
    yield from (share, use, fair)
