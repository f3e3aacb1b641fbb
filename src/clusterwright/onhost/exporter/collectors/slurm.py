"""Slurm as slurmctld says it, from one picture of the nodes and one of the queue, so that no two numbers contradict."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from clusterwright.onhost.exporter import slurm_text
from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.exporter.settings import Settings
from clusterwright.onhost.exporter.text import Family, gauge
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.nodes import Node, parse_nodes

EVERY_S, TIMEOUT_S, STAYS = 15.0, 45.0, False
LIMIT_S = 10.0  # of one command: Slurm's own MessageTimeout
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s"}
# Reasons for which a job waits that could run if there were room.
COULD_RUN = ("Resources", "Priority", "")
_FREE = ("idle", "mixed", "allocated", "completing", "planned", "reserved")  # states whose rest can be had
_SHARES = ["sshare", "-a", "-n", "-P", "-o", "Account,User,NormShares,EffectvUsage,FairShare"]


def is_enabled(settings: Settings) -> bool:
    """On the control host."""
    return settings.control


def collect(_settings: Settings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """A controller that is silent is told, and is no failure of ours."""
    up = gauge("slurm_up", "1 where slurmctld answers.")
    output = command_output(["sdiag"], LIMIT_S)
    yield up.add(float(output is not None))
    if output is None:
        return
    diagnostics = slurm_text.diagnosis(output)
    yield gauge("slurm_cycle_seconds", "The last cycle of the main scheduler.").add(diagnostics.get("cycle"))
    yield gauge("slurm_backfill_seconds", "The last cycle of the backfill scheduler.").add(
        diagnostics.get("backfill")
    )
    yield gauge("slurm_threads", "Threads of slurmctld that serve somebody.").add(diagnostics.get("threads"))
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
    )  # nothing without accounts


def of_nodes(nodes: Iterable[Node]) -> Iterator[Family]:
    """Each node's state; nodes, processors and GPUs of each partition by state."""
    states = gauge("slurm_node_state", "1 for the state that the node is in.")
    info = gauge("slurm_node_drain_info", "1 for each node that somebody keeps jobs away from.")
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
        ("cpus", "Processors that jobs hold, that are free, and that cannot be had."),
        ("gpus", "GPUs that jobs hold, that are free, and that cannot be had."),
    ):
        family = gauge(f"slurm_{name}", meaning)
        for (partition, state), count in sorted(counts[name].items()):
            family.add(count, partition=partition, state=state)
        yield family


def of_jobs(jobs: List[Job], now: float) -> Iterator[Family]:
    """Jobs and their GPUs, and who has waited longest though it could run."""
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
            waited = max(0.0, now - eligible_at)  # a clock behind this one makes no wait negative
            waits[partition, job.account] = max(waited, waits.get((partition, job.account), 0.0))
    for name, meaning, counted in (
        ("slurm_jobs", "Jobs; those of an array that wait are one.", count),
        ("slurm_job_gpus", "GPUs that they hold, or ask for.", gpus),
    ):
        family = gauge(name, meaning)
        for (partition, account, state), number in sorted(counted.items()):
            family.add(number, partition=partition, account=account, state=state)
        yield family
    longest = gauge("slurm_wait_seconds", "The longest wait of a job that could run if there were room.")
    for (partition, account), seconds in sorted(waits.items()):
        longest.add(round(seconds), partition=partition, account=account)
    yield longest


def _seconds(time: str) -> float:
    """Of a time in seconds since the epoch; 0 of none."""
    return float(time) if time.isdigit() else 0.0


def of_shares(shares: List[slurm_text.Share]) -> Iterator[Family]:
    """Of each account."""
    share = gauge("slurm_share_ratio", "What the account may have of all.")
    use = gauge("slurm_use_ratio", "What it has had of late, as Slurm weighs it.")
    fair = gauge("slurm_fairshare_ratio", "Its factor in a job's priority; the mean of its users.")
    for row in shares:
        share.add(row.share, account=row.account)
        use.add(row.use, account=row.account)
        fair.add(row.fairshare, account=row.account)
    yield from (share, use, fair)
