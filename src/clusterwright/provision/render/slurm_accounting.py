"""Accounting, priority and preemption in slurm.conf."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.slurm_releases import release_of, youngest_first
from clusterwright.units import format_slurm_time

NONE = """
# No accounting daemon, so nothing is gathered for one.
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
"""
GATHER_S = 30


def accounting(cluster: Cluster) -> str:
    """Return slurmdbd, enforcement and priority; without accounting, first in, first out."""
    host = cluster.accountant
    if host is None:
        return NONE
    return f"""
# Who used what goes to slurmdbd; what teams, users and qualities of service may take is enforced. `safe`: no job is
# started that a limit would end.
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={host.name}
AccountingStorageEnforce=associations,limits,qos,safe
AccountingStorageTRES={",".join(tres(cluster))}
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency={GATHER_S}
{_priority(cluster)}{_preemption(cluster)}"""


def tres(cluster: Cluster) -> tuple[str, ...]:
    """Return the TRES beyond CPUs and memory: GPUs, and each GPU type."""
    models = dict.fromkeys(group.gpus.model for group in cluster.nodes.values() if group.gpus)
    return ("gres/gpu", *(f"gres/gpu:{model}" for model in models))


def _priority(cluster: Cluster) -> str:
    half_life = format_slurm_time(cluster.accounting.half_life)
    return f"""
# Who goes first: quality of service before fair share, that before what has waited long (a week counts in full) and
# before large jobs, which would never start among small ones. Use of {half_life} ago counts half.
# MAX_TRES: a job is charged for the largest part of a host that it holds, be it GPUs, CPUs or memory.
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
    """Return preemption; empty unless a QOS may preempt another."""
    if not any(qos.preempts for qos in cluster.qos.values()):
        return ""
    key, value = youngest_first(release_of(cluster))
    return f"""
# A quality of service may push jobs of another aside; each says itself what becomes of them. Those that began last
# go first: they lose least.
PreemptType=preempt/qos
PreemptMode=REQUEUE

# The youngest first.
{key}={value}
"""
