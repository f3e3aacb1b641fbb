"""Teams, users and QOS of the cluster file as rows of Slurm's accounting.

A row has a `kind`, a `name`, and the settings that Clusterwright manages; a setting with an empty value is removed in
slurmdbd. Settings that a row does not have stay unchanged. The setting `GrpTRES gres/gpu` is one TRES of GrpTRES.
"""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.people import Team
from clusterwright.config.slurm import Partition, Qos
from clusterwright.provision.render.slurm_nodes import GPU_BILLED, headroom_qos
from clusterwright.units import MINUTE_S

Row = dict[str, str]

NORMAL, ROOT = (
    "normal",
    "root",
)  # built into every slurmdbd: the default QOS and the root of the account tree
GPU = "gres/gpu"  # a TRES, as slurm.conf names it


def account_rows(cluster: Cluster) -> tuple[Row, ...]:
    """Return the rows of accounting: QOS, then teams from the top down, then members."""
    return (*qos_rows(cluster), *_teams(cluster), *_members(cluster), *_people(cluster))


def qos_names(cluster: Cluster) -> tuple[Row, ...]:
    """Return rows with only the names of the QOS that partitions in slurm.conf use.

    slurmctld exits, or ignores the partition, if one is unknown at its start.
    """
    return tuple({"kind": "qos", "name": row["name"]} for row in qos_rows(cluster))


def qos_rows(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row for each QOS of the cluster file, and one for each partition with headroom."""
    return (
        *(_qos(name, qos) for name, qos in cluster.qos.items()),
        *(_headroom(cluster, name, part) for name, part in cluster.partitions.items() if has_headroom(part)),
    )


def has_headroom(partition: Partition) -> bool:
    """Return whether the partition reserves headroom: GPUs that its jobs must leave idle."""
    return partition.headroom_percent > 0


def headroom_gpus(cluster: Cluster, partition: Partition) -> int:
    """Return the most GPUs that jobs of the partition may hold together, so that its head-room stays free."""
    groups = [cluster.nodes[name] for name in partition.nodes]
    gpus = sum(group.gpus.count * len(group.names()) for group in groups if group.gpus)
    return gpus * (100 - partition.headroom_percent) // 100


def _headroom(cluster: Cluster, name: str, partition: Partition) -> Row:
    """Return the row of the partition QOS that limits all its jobs together, in billing units.

    Slurm ignores a team's limit of a TRES that a partition QOS limits too, so the limit is not in GPUs. It
    includes the CPUs and memory that belong to a GPU, because a GPU without them is unusable.
    """
    most = headroom_gpus(cluster, partition) * GPU_BILLED
    return {"kind": "qos", "name": headroom_qos(name), "Flags": "DenyOnLimit", "GrpTRES billing": str(most)}


def _qos(name: str, qos: Qos) -> Row:
    return {
        "kind": "qos",
        "name": name,
        "Priority": str(qos.priority),
        "Preempt": ",".join(sorted(qos.preempts)),
        "PreemptMode": qos.preempt_mode,
        "GraceTime": str(qos.grace or 0),
        "MaxWall": _number(qos.max_time and -(-qos.max_time // MINUTE_S)),
        f"GrpTRES {GPU}": _number(qos.max_gpus),
        f"MaxTRESPerJob {GPU}": _number(qos.max_gpus_per_job),
        f"MaxTRESPerUser {GPU}": _number(qos.max_gpus_per_user),
        "MaxJobsPerUser": _number(qos.max_jobs_per_user),
        "Flags": "DenyOnLimit",  # reject a job that exceeds a limit by itself: it would be pending forever
    }


def _teams(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row for each team, parents first."""
    order = sorted(cluster.teams, key=lambda name: _depth(cluster.teams, name))
    return tuple(_team(cluster, name, cluster.teams[name]) for name in order)


def _team(cluster: Cluster, name: str, team: Team) -> Row:
    qos = {
        qos_name for qos_name, quality in cluster.qos.items() if not quality.teams or name in quality.teams
    }
    if NORMAL not in cluster.qos or not qos:
        qos.add(NORMAL)  # every team may use it, unless the file reserves it for some
    return {
        "kind": "account",
        "name": name,
        "Parent": team.parent or ROOT,
        "Fairshare": str(team.shares),
        f"GrpTRES {GPU}": _number(team.max_gpus),
        "GrpJobs": _number(team.max_jobs),
        "QOS": ",".join(sorted(qos)),
        "DefaultQOS": NORMAL if NORMAL in qos else min(qos),
    }


def _members(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row for each user in each team, with equal shares unless an administrator changed them in sacctmgr."""
    return tuple(
        {
            "kind": "user",
            "name": name,
            "account": team,
            f"GrpTRES {GPU}": _number(cluster.teams[team].max_gpus_per_user),
        }
        for name, user in cluster.users.items()
        for team in dict.fromkeys((user.team, *user.additional_teams))
    )


def _people(cluster: Cluster) -> tuple[Row, ...]:
    """Return the settings of users that do not depend on a team, such as the admin level."""
    return tuple(
        {
            "kind": "person",
            "name": name,
            "DefaultAccount": user.team,
            "AdminLevel": "Administrator" if user.admin else "None",
        }
        for name, user in cluster.users.items()
    )


def _depth(teams: dict[str, Team], name: str) -> int:
    parent = teams[name].parent
    return 1 + _depth(teams, parent) if parent else 0


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
