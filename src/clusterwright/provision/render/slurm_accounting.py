"""Accounting, priority and preemption in slurm.conf."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.slurm_releases import release_of, youngest_first
from clusterwright.units import format_slurm_time

NONE = """
# No accounting daemon, so no accounting data is gathered.
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
"""
GATHER_S = 30


def accounting(cluster: Cluster) -> str:
    """Return slurm.conf's lines for slurmdbd, enforced limits, priority and preemption.

    Without accounting, those that switch it off.
    """
    host = cluster.accountant
    if host is None:
        return NONE
    return f"""
# Usage is recorded by slurmdbd; limits of teams, users and QOS are enforced. `safe`: a job that a limit would end is
# not started.
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={host.name}
AccountingStorageEnforce=associations,limits,qos,safe
AccountingStorageTRES={",".join(tres(cluster))}
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency={GATHER_S}
{_priority(cluster)}{_preemption(cluster)}"""


def tres(cluster: Cluster) -> tuple[str, ...]:
    """Return AccountingStorageTRES beyond CPUs and memory: all GPUs, and each GPU type."""
    models = dict.fromkeys(group.gpus.model for group in cluster.nodes.values() if group.gpus)
    return ("gres/gpu", *(f"gres/gpu:{model}" for model in models))


def _priority(cluster: Cluster) -> str:
    half_life = format_slurm_time(cluster.accounting.half_life)
    return f"""
# Priority: QOS, then fair share, then age (full weight after a week) and job size, because large jobs would never
# start among small ones. Usage from {half_life} ago counts half.
# MAX_TRES: a job is billed for the largest part of a host that it holds, be it GPUs, CPUs or memory.
PriorityType=priority/multifactor
PriorityDecayHalfLife={half_life}
PriorityMaxAge=7-0
PriorityWeightQOS=200000
PriorityWeightFairshare=100000
PriorityWeightAge=20000
PriorityWeightJobSize=10000
PriorityFlags=MAX_TRES
"""


def _preemption(cluster: Cluster) -> str:
    """Return the lines for preemption by QOS; empty unless a QOS may preempt another."""
    if not any(qos.preempts for qos in cluster.qos.values()):
        return ""
    key, value = youngest_first(release_of(cluster))
    return f"""
# A QOS may preempt jobs of another; each QOS sets what happens to them. The youngest jobs are preempted first: they
# lose least.
PreemptType=preempt/qos
PreemptMode=REQUEUE

# Preempt the youngest jobs first.
{key}={value}
"""
