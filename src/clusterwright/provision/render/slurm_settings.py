"""The cluster-wide settings of slurm.conf, with the reason for each choice."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.slurm_releases import (
    rate_limit,
    release_of,
    switch_as_rank,
    tree_width,
)
from clusterwright.provision.render.topology import kind_of

STATE, SPOOL, LOGS = "/var/spool/slurmctld", "/var/spool/slurmd", "/var/log/slurm"
CONTROL_PORT, NODE_PORT = 6817, 6818  # Slurm's own defaults, named so that the firewall can open them

AFFINITY = """TaskPlugin=task/cgroup,task/affinity"""
NO_AFFINITY = """# Without task/affinity: the CPUs of a virtual host are modelled, so none can be bound.
TaskPlugin=task/cgroup"""

MODELLED = """
# A lab: hosts may claim the CPUs and the memory that they model, and have no mail.
SlurmdParameters=config_overrides
MailProg=/usr/bin/true
"""
MANY_HOSTS = 256  # from here on slurmctld answers late when all of them speak at once (Slurm's big_sys page)


def slurm_settings(cluster: Cluster) -> str:
    """Return paragraphs of a reason and its keys."""
    return (
        _daemons(cluster)
        + _losses(cluster)
        + _jobs(cluster)
        + (MODELLED if cluster.lab else "")
        + _topology(cluster)
    )


def message_timeout_s(cluster: Cluster) -> int:
    """Return MessageTimeout in seconds; Slurm's default is 10."""
    return 30 if len(cluster.hosts("compute")) > MANY_HOSTS else 10


def _daemons(cluster: Cluster) -> str:
    control, (first_port, last) = cluster.control, cluster.slurm.ports
    return f"""
# The cluster.
ClusterName={cluster.name}
SlurmctldHost={control.name}({control.management})

# Its daemons.
SlurmUser=slurm
SlurmctldPort={CONTROL_PORT}
SlurmdPort={NODE_PORT}
StateSaveLocation={STATE}
SlurmdSpoolDir={SPOOL}
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={LOGS}/slurmctld.log
SlurmdLogFile={LOGS}/slurmd.log

# srun listens here; the firewall opens these.
SrunPortRange={first_port}-{last}

# Who is who. A credential lives a minute, not two: `scontrol requeue` waits for it to end.
AuthType=auth/munge
CredType=cred/munge
AuthInfo=cred_expire=60
{_controller(cluster)}"""


def _controller(cluster: Cluster) -> str:
    slurm_release, hosts = release_of(cluster), len(cluster.hosts("compute"))
    text = ""
    if cluster.slurm.configless:
        text += "\n# Compute hosts fetch these files from here (configless).\nSlurmctldParameters=enable_configless\n"
    if rate_limit(slurm_release):
        text += "\n# A user who asks in a loop is slowed down, and the others are not.\n"
        text += f"SlurmctldParameters={','.join(rate_limit(slurm_release))}\n"
    if hosts > MANY_HOSTS:
        text += "\n# Hundreds of hosts speak at once; who asks then waits and is not refused.\n"
        text += f"MessageTimeout={message_timeout_s(cluster)}\n"
    if width := tree_width(slurm_release, hosts):
        text += f"\n# As many hosts as one passes a message on to; silent ones then hold up few.\nTreeWidth={width}\n"
    return text


def _losses(cluster: Cluster) -> str:
    kill_wait = cluster.slurm.kill_wait
    return f"""
# A host counts as lost after this silence. 2: it joins again by itself when it returns, also when it was
# back before its silence was noticed (1 leaves that one down as `unexpectedly rebooted`).
SlurmdTimeout={cluster.slurm.node_timeout}
ReturnToService=2

# A partition that somebody took down by hand stays down when these files are read again.
ReconfigFlags=KeepPartState

# From SIGTERM to SIGKILL, long enough to write a checkpoint; a process that outlives that drains its host.
# Slurm wants five message timeouts at least for the latter.
KillWait={kill_wait}
UnkillableStepTimeout={max(60, 2 * kill_wait, 5 * message_timeout_s(cluster))}

# Jobs that ended stay visible to squeue and scontrol for an hour, and on file for good.
MinJobAge=3600
JobCompType=jobcomp/filetxt
JobCompLoc={LOGS}/jobcomp.log
"""


def _jobs(cluster: Cluster) -> str:
    return f"""
# Cores, memory and GPUs are handed out one by one.
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
JobRequeue=1

# A job that could never run in its partition is refused when it is submitted, and does not wait for ever.
EnforcePartLimits=ALL

# Jobs are held in control groups: they see their own GPUs, cores and memory, and leave nothing behind.
ProctrackType=proctrack/cgroup
{NO_AFFINITY if cluster.lab else AFFINITY}

# torchrun needs no MPI; `srun --mpi=pmix` is there where its library is.
MpiDefault={cluster.rdma.mpi_default if cluster.rdma else "none"}

# RDMA pins memory, so the limits of the shell that submits must not follow the job.
PropagateResourceLimitsExcept=MEMLOCK,NOFILE

# salloc opens its shell on the first host of the job.
LaunchParameters=use_interactive_step
"""


def _topology(cluster: Cluster) -> str:
    kind = kind_of(cluster)
    if kind == "none":
        return ""
    if kind == "block":
        return "\n# A job is kept within as few NVLink domains as can be (blocks).\nTopologyPlugin=topology/block\n"
    rank = "\n# Ranks go by switch, also where the names of hosts do not.\nTopologyParam=SwitchAsNodeRank\n"
    tree = (
        "\n# Jobs are placed under as few switches as can be (topology.conf).\nTopologyPlugin=topology/tree\n"
    )
    return tree + (rank if switch_as_rank(release_of(cluster)) else "")
