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

MAIL_PROGRAM = "/etc/slurm/clusterwright/mail"
STATE, SPOOL, LOGS = "/var/spool/slurmctld", "/var/spool/slurmd", "/var/log/slurm"
CONTROL_PORT, NODE_PORT = 6817, 6818  # Slurm's own defaults, named so that the firewall can open them

AFFINITY = """TaskPlugin=task/cgroup,task/affinity"""
NO_AFFINITY = """# Without task/affinity: the CPUs of a virtual host are modelled, so none can be bound.
TaskPlugin=task/cgroup"""

MODELLED = """
# A lab: hosts report the CPUs and memory that the file declares, and have no mail.
SlurmdParameters=config_overrides
MailProg=/usr/bin/true
"""
MAIL = f"""
# Users choose the address of `sbatch --mail-user`, which mail reads as an option, a command or a file.
MailProg={MAIL_PROGRAM}
"""
MANY_HOSTS = 256  # from here on slurmctld responds late when all hosts send at once (Slurm's big_sys page)


def slurm_settings(cluster: Cluster) -> str:
    """Return the cluster-wide settings of slurm.conf as text: paragraphs of a comment with the reason, then keys."""
    return (
        _daemons(cluster)
        + _losses(cluster)
        + _jobs(cluster)
        + (MODELLED if cluster.lab else MAIL)
        + _topology(cluster)
    )


def message_timeout_s(cluster: Cluster) -> int:
    """Return MessageTimeout in seconds; Slurm's default is 10."""
    return 30 if len(cluster.hosts("compute")) > MANY_HOSTS else 10


def _daemons(cluster: Cluster) -> str:
    control, (first_port, last) = cluster.control, cluster.slurm.ports
    return f"""
# Cluster.
ClusterName={cluster.name}
SlurmctldHost={control.name}({control.management})

# Daemons.
SlurmUser=slurm
SlurmctldPort={CONTROL_PORT}
SlurmdPort={NODE_PORT}
StateSaveLocation={STATE}
SlurmdSpoolDir={SPOOL}
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={LOGS}/slurmctld.log
SlurmdLogFile={LOGS}/slurmd.log

# Ports on which srun listens; the firewall opens them.
SrunPortRange={first_port}-{last}

# Authentication. A credential is valid for one minute, not two: `scontrol requeue` waits for it to expire.
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
# A host is down after this silence. 2: it rejoins when it responds again, even if it rebooted before the timeout (1
# would leave it down as `unexpectedly rebooted`).
SlurmdTimeout={cluster.slurm.node_timeout}
ReturnToService=2

# A partition that an administrator set down stays down after a reload.
ReconfigFlags=KeepPartState

# Time from SIGTERM to SIGKILL, enough to write a checkpoint; a process that survives it drains its host. Slurm
# recommends at least five message timeouts for the latter.
KillWait={kill_wait}
UnkillableStepTimeout={max(60, 2 * kill_wait, 5 * message_timeout_s(cluster))}

# squeue and scontrol show ended jobs for an hour; accounting keeps them.
MinJobAge=3600
JobCompType=jobcomp/filetxt
JobCompLoc={LOGS}/jobcomp.log
"""


def _jobs(cluster: Cluster) -> str:
    return f"""
# Cores, memory and GPUs are allocated individually.
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
JobRequeue=1

# A job that can never run in its partition is rejected at submission, not queued forever.
EnforcePartLimits=ALL

# Jobs run in cgroups: they see only their own GPUs, cores and memory, and leave no processes behind.
ProctrackType=proctrack/cgroup
{NO_AFFINITY if cluster.lab else AFFINITY}

# torchrun needs no MPI; `srun --mpi=pmix` works if its library is installed.
MpiDefault={cluster.rdma.mpi_default if cluster.rdma else "none"}

# RDMA pins memory, so jobs must not inherit the limits of the submitting shell.
PropagateResourceLimitsExcept=MEMLOCK,NOFILE

# salloc opens a shell on the first host of the job.
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
