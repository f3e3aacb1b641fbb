"""slurm.conf, the same on every host."""

from __future__ import annotations

from clusterwright.build.render.slurm_keys import legal
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold
from clusterwright.spec.nodes import NodeGroup
from clusterwright.spec.site import Partition
from clusterwright.units import MiB, format_slurm_time

STATE, SPOOL, LOGS = "/var/spool/slurmctld", "/var/spool/slurmd", "/var/log/slurm"
CONTROL_PORT, NODE_PORT = 6817, 6818  # Slurm's own defaults, named so that the firewall can open them

Row = tuple[str, str]
Block = tuple[str, tuple[Row, ...]]  # a comment that gives the reason, and the keys that it is about


def slurm_conf(cluster: Cluster, header: str) -> str:
    """The whole file: settings with their reasons, then nodes, then partitions."""
    blocks = (*_settings(cluster), *_scheduling(cluster))
    lines = [header]
    for why, rows in blocks:
        kept = [f"{key}={value}\n" for key, value in rows if legal(cluster.software.slurm, key)]
        lines += ["\n", *(f"# {line}\n" for line in why.split("\n")), *kept] if kept else []
    lines += ["\n", *_nodes(cluster), "\n", *_partitions(cluster)]
    return "".join(lines)


def _settings(cluster: Cluster) -> tuple[Block, ...]:
    slurm, control = cluster.slurm, cluster.control
    return (
        (
            "The cluster.",
            (("ClusterName", cluster.name), ("SlurmctldHost", f"{control.name}({control.management})")),
        ),
        (
            "Daemons. State is kept where a package upgrade does not reach.",
            (
                ("SlurmUser", "slurm"),
                ("SlurmctldPort", str(CONTROL_PORT)),
                ("SlurmdPort", str(NODE_PORT)),
                ("StateSaveLocation", STATE),
                ("SlurmdSpoolDir", SPOOL),
                ("SlurmctldPidFile", "/run/slurmctld.pid"),
                ("SlurmdPidFile", "/run/slurmd.pid"),
                ("SlurmctldLogFile", f"{LOGS}/slurmctld.log"),
                ("SlurmdLogFile", f"{LOGS}/slurmd.log"),
            ),
        ),
        (
            "srun listens here; the firewall opens these.",
            (("SrunPortRange", f"{slurm.ports[0]}-{slurm.ports[1]}"),),
        ),
        (
            "Who is who. A credential lives a minute, not two: `scontrol requeue` waits for it to end.",
            (("AuthType", "auth/munge"), ("CredType", "cred/munge"), ("AuthInfo", "cred_expire=60")),
        ),
        (
            "A host counts as lost after this silence. 2: it joins again by itself when it returns, also when it\n"
            "was back before the silence was noticed (with 1 that leaves it down as `unexpectedly rebooted`).",
            (("SlurmdTimeout", str(slurm.node_timeout)), ("ReturnToService", "2")),
        ),
        (
            "From SIGTERM to SIGKILL, long enough to write a checkpoint.",
            (
                ("KillWait", str(slurm.kill_wait)),
                ("UnkillableStepTimeout", str(max(60, 2 * slurm.kill_wait))),
            ),
        ),
        (
            "Jobs that ended stay visible to squeue and scontrol for an hour, and on file for good.",
            (
                ("MinJobAge", "3600"),
                ("JobCompType", "jobcomp/filetxt"),
                ("JobCompLoc", f"{LOGS}/jobcomp.log"),
            ),
        ),
        ("No accounting daemon yet.", (("AccountingStorageType", "accounting_storage/none"),)),
    )


def _scheduling(cluster: Cluster) -> tuple[Block, ...]:
    modelled = cluster.lab is not None
    return (
        (
            "Cores, memory and GPUs are handed out one by one.",
            (
                ("SchedulerType", "sched/backfill"),
                ("SelectType", "select/cons_tres"),
                ("SelectTypeParameters", "CR_Core_Memory"),
                ("GresTypes", "gpu"),
                ("JobRequeue", "1"),
            ),
        ),
        (
            "Jobs are held in control groups: they see their own GPUs, cores and memory and leave nothing behind."
            + (
                "\nWithout task/affinity: the CPUs of a virtual host are modelled, so none can be bound."
                if modelled
                else ""
            ),
            (
                ("ProctrackType", "proctrack/cgroup"),
                ("TaskPlugin", "task/cgroup" if modelled else "task/cgroup,task/affinity"),
                ("JobAcctGatherType", "jobacct_gather/cgroup"),
                ("JobAcctGatherFrequency", "30"),
            ),
        ),
        (
            "torchrun needs no MPI; `srun --mpi=pmix` is there where its library is.",
            (("MpiDefault", "none"),),
        ),
        (
            "RDMA pins memory, so the limit of the shell that submits must not follow the job.",
            (("PropagateResourceLimitsExcept", "MEMLOCK,NOFILE"),),
        ),
        (
            "salloc opens its shell on the first host of the job.",
            (("LaunchParameters", "use_interactive_step"),),
        ),
        *((_OVERRIDES,) if modelled else ()),
        *((_TREE,) if has_topology(cluster) else ()),
    )


_OVERRIDES: Block = (
    "A lab: hosts may claim the CPUs and the memory that they model.",
    (("SlurmdParameters", "config_overrides"),),
)
_TREE: Block = (
    "Jobs are placed under as few switches as can be (topology.conf).",
    (("TopologyPlugin", "topology/tree"),),
)


def has_topology(cluster: Cluster) -> bool:
    """True when every compute group names its switch: Slurm drops hosts that hang on none."""
    groups = [group for group in cluster.nodes.values() if group.role == "compute"]
    return bool(groups) and all(group.switch for group in groups)


def usable_memory_mib(group: NodeGroup) -> int:
    """What slurmd will find at least. A host that finds less than RealMemory is drained.

    A kernel keeps 64 of every 4096 bytes for itself (struct page: 1.6 %), firmware and the crash kernel about
    as much again: hence 31/32 of what the file says.
    """
    return group.memory // MiB * 31 // 32


def _nodes(cluster: Cluster) -> list[str]:
    lines = [
        "# Memory: 31/32 of what is built in (kernel and firmware keep the rest), and of that MemSpecLimit for the system.\n"
    ]
    for group in cluster.nodes.values():
        if group.role == "compute":
            lines.append(_node(group))
    return lines


def _node(group: NodeGroup) -> str:
    rows = [
        ("NodeName", fold(group.names())),
        ("Sockets", str(group.cpus.sockets)),
        ("CoresPerSocket", str(group.cpus.cores_per_socket)),
        ("ThreadsPerCore", str(group.cpus.threads_per_core)),
        ("RealMemory", str(usable_memory_mib(group))),
        ("MemSpecLimit", str(group.memory_reserved // MiB)),
    ]
    if group.gpus:
        rows.append(("Gres", f"gpu:{group.gpus.model}:{group.gpus.count}"))
    return " ".join(f"{key}={value}" for key, value in (*rows, ("State", "UNKNOWN"))) + "\n"


def _partitions(cluster: Cluster) -> list[str]:
    lines = ["# A job that asks for no memory gets its GPUs' or CPUs' share of the host, not all of it.\n"]
    return lines + [_partition(cluster, name, part) for name, part in cluster.partitions.items()]


def _partition(cluster: Cluster, name: str, partition: Partition) -> str:
    groups = [cluster.nodes[group] for group in partition.nodes]
    rows = [
        ("PartitionName", name),
        ("Nodes", fold([host for group in groups for host in group.names()])),
        ("Default", "YES" if partition.default else "NO"),
        ("MaxTime", format_slurm_time(partition.max_time)),
        *_memory_shares(groups),
        ("State", "UP"),
    ]
    if partition.teams:
        rows.append(("AllowGroups", ",".join(partition.teams)))
    return " ".join(f"{key}={value}" for key, value in rows) + "\n"


def _memory_shares(groups: list[NodeGroup]) -> tuple[Row, ...]:
    """The smallest host's share per GPU, and per CPU for jobs without GPUs. Slurm counts in MiB."""
    free = [usable_memory_mib(group) - group.memory_reserved // MiB for group in groups]
    per_cpu = min(mib // group.cpus.threads for mib, group in zip(free, groups, strict=True))
    per_gpu = [mib // group.gpus.count for mib, group in zip(free, groups, strict=True) if group.gpus]
    return (("DefMemPerCPU", str(per_cpu)), *((("DefMemPerGPU", str(min(per_gpu))),) if per_gpu else ()))
