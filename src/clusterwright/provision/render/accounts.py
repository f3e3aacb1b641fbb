"""Teams, users and QOS of the cluster file as rows of Slurm's accounting.

A row has a `kind`, a `name`, and the settings that Clusterwright manages; a setting with an empty value is removed in
slurmdbd. Settings that a row does not have stay unchanged. The setting `GrpTRES gres/gpu` is one TRES of GrpTRES.
"""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.people import Team, User
from clusterwright.config.slurm import Partition, Qos
from clusterwright.config.slurm_rules.conf import minutes
from clusterwright.onhost.provision.accounts import TIMES
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
    """Return the rows of `qos_rows` with only their names.

    slurmctld exits, or ignores the partition, if a partition's QOS is unknown at its start.
    """
    return tuple({"kind": "qos", "name": row["name"]} for row in qos_rows(cluster))


def qos_rows(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row for each QOS of the cluster file, and one for each partition with headroom."""
    return (
        *(_qos(cluster, name, qos) for name, qos in cluster.qos.items()),
        *(_headroom(cluster, name, part) for name, part in cluster.partitions.items() if has_headroom(part)),
    )


def has_headroom(partition: Partition) -> bool:
    """Return whether the partition reserves headroom: GPUs that its jobs must leave idle."""
    return partition.headroom_percent > 0


def headroom_gpus(cluster: Cluster, partition: Partition) -> int:
    """Return the most GPUs that jobs of the partition may hold together, rounded down: all less the headroom."""
    groups = [cluster.nodes[name] for name in partition.nodes]
    gpus = sum(group.gpus.count * len(group.names()) for group in groups if group.gpus)
    return gpus * (100 - partition.headroom_percent) // 100


def _headroom(cluster: Cluster, name: str, partition: Partition) -> Row:
    """Return the row of slurmdbd for the partition's QOS, which limits all its jobs together, in billing units.

    Slurm ignores a team's limit of a TRES that a partition QOS limits too, so the limit is not in GPUs. It
    includes the CPUs and memory that belong to a GPU, because a GPU without them is unusable.
    """
    most = headroom_gpus(cluster, partition) * GPU_BILLED
    return {"kind": "qos", "name": headroom_qos(name), "Flags": "DenyOnLimit", "GrpTRES billing": str(most)}


def _qos(cluster: Cluster, name: str, qos: Qos) -> Row:
    values = {
        "Priority": ("priority", str(qos.priority)),
        "Preempt": ("preempts", ",".join(sorted(qos.preempts))),
        "PreemptMode": ("preempt_mode", qos.preempt_mode),
        "GraceTime": ("grace", str(qos.grace or 0)),
        "MaxWall": ("max_time", _number(qos.max_time and -(-qos.max_time // MINUTE_S))),
        f"GrpTRES {GPU}": ("max_gpus", _number(qos.max_gpus)),
        f"MaxTRESPerJob {GPU}": ("max_gpus_per_job", _number(qos.max_gpus_per_job)),
        f"MaxTRESPerUser {GPU}": ("max_gpus_per_user", _number(qos.max_gpus_per_user)),
        "MaxJobsPerUser": ("max_jobs_per_user", _number(qos.max_jobs_per_user)),
        # DenyOnLimit rejects a job that exceeds a limit by itself: it would be pending forever.
        "Flags": ("", "DenyOnLimit"),
    }
    return {"kind": "qos", "name": name, **_settings(cluster, qos, values)}


def _settings(cluster: Cluster, section: Qos | Team, values: dict[str, tuple[str, str]]) -> Row:
    """Return the settings from (field, value), then those of `options`, which replace them.

    Of a site only what the file sets.
    """
    is_of_site, written = cluster.slurm.is_of_site, section.model_fields_set
    rows = {name: value for name, (field, value) in values.items() if not is_of_site or field in written}
    for name, value in section.options.items():
        rows.update(_option_rows(name, value))
    return rows


def _option_rows(name: str, value: str) -> Row:
    """Return a setting as rows have it: one for each TRES, names of QOS lists sorted, times in minutes."""
    if "=" in value:
        pairs = (item.strip().partition("=") for item in value.split(","))
        return {f"{name} {tres}": limit for tres, _sign, limit in pairs}
    if name == "QOS":
        return {name: ",".join(sorted(item.strip() for item in value.split(",")))}
    limit = minutes(value) if name in TIMES else None
    return {name: value if limit is None else str(limit)}


def _teams(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row of Slurm's accounting for each team of the cluster file, parents first."""
    order = sorted(cluster.teams, key=lambda name: _depth(cluster.teams, name))
    return tuple(_team(cluster, name, cluster.teams[name]) for name in order)


def _team(cluster: Cluster, name: str, team: Team) -> Row:
    qos = {
        qos_name for qos_name, quality in cluster.qos.items() if not quality.teams or name in quality.teams
    }
    if NORMAL not in cluster.qos or not qos:
        qos.add(NORMAL)  # every team may use it, unless the file reserves it for some
    values = {
        "Parent": ("parent", team.parent or ROOT),
        "Fairshare": ("shares", str(team.shares)),
        f"GrpTRES {GPU}": ("max_gpus", _number(team.max_gpus)),
        "GrpJobs": ("max_jobs", _number(team.max_jobs)),
        "QOS": ("", ",".join(sorted(qos))),
        "DefaultQOS": ("", NORMAL if NORMAL in qos else min(qos)),
    }
    return {"kind": "account", "name": name, **_settings(cluster, team, values)}


def _members(cluster: Cluster) -> tuple[Row, ...]:
    """Return a row for each user in each team, with equal shares unless an administrator changed them in sacctmgr."""
    return tuple(
        {"kind": "user", "name": name, "account": team, **_member_limit(cluster, cluster.teams[team])}
        for name, user in cluster.users.items()
        for team in dict.fromkeys((user.team, *user.additional_teams))
    )


def _member_limit(cluster: Cluster, team: Team) -> Row:
    if cluster.slurm.is_of_site and "max_gpus_per_user" not in team.model_fields_set:
        return {}
    return {f"GrpTRES {GPU}": _number(team.max_gpus_per_user)}


def _people(cluster: Cluster) -> tuple[Row, ...]:
    """Return the settings of users that do not depend on a team, such as the admin level."""
    return tuple(
        {"kind": "person", "name": name, "DefaultAccount": user.team, **_admin_level(cluster, user)}
        for name, user in cluster.users.items()
    )


def _admin_level(cluster: Cluster, user: User) -> Row:
    if cluster.slurm.is_of_site and "admin" not in user.model_fields_set:
        return {}
    return {"AdminLevel": "Administrator" if user.admin else "None"}


def _depth(teams: dict[str, Team], name: str) -> int:
    parent = teams[name].parent
    return 1 + _depth(teams, parent) if parent else 0


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
