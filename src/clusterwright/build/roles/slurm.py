"""Slurm: the same files on every host, slurmctld on the first control host, slurmd on the compute hosts."""

from __future__ import annotations

from clusterwright.build.distribution import slurm_packages
from clusterwright.build.render.cgroup_conf import cgroup_conf
from clusterwright.build.render.gres_conf import gres_conf
from clusterwright.build.render.slurm_conf import has_topology, slurm_conf
from clusterwright.build.render.slurm_settings import LOGS, SPOOL, STATE
from clusterwright.build.render.topology_conf import topology_conf
from clusterwright.build.resources import Directory, File, Given, Resource, Unit
from clusterwright.spec.cluster import Cluster, Host
from clusterwright.spec.field import Cost

AFTER = ("base", "clock", "kernel", "munge", "slurm_account")

# No release of Slurm has a test for its file, but every command parses it first, and this one asks no daemon.
PARSES = ("env", "SLURM_CONF={}", "scontrol", "show", "hostnames", "localhost")
LIMITS = """[Service]
# RDMA pins memory; a job has slurmd's limits.
LimitMEMLOCK=infinity
LimitNOFILE=1048576

# A daemon that died is started again.
Restart=on-failure
RestartSec=2
"""


def slurm(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """The daemon of the host's role, the commands everywhere."""
    files = _files(cluster, given.header())
    return (
        *slurm_packages(cluster, "client"),
        Directory(path="/etc/slurm"),
        Directory(path=LOGS, owner="slurm", group="slurm"),
        *files,
        *_daemon(cluster, host, given.header(), tuple(file.id for file in files)),
    )


def _files(cluster: Cluster, header: str) -> tuple[File, ...]:
    files = [
        File(
            path="/etc/slurm/slurm.conf",
            content=slurm_conf(cluster, header),
            cost=Cost.RESTART,
            validate=PARSES,
        ),
        File(path="/etc/slurm/cgroup.conf", content=cgroup_conf(cluster, header), cost=Cost.RESTART),
        File(path="/etc/slurm/gres.conf", content=gres_conf(cluster, header), cost=Cost.DRAIN),
    ]
    if has_topology(cluster):
        files.append(
            File(path="/etc/slurm/topology.conf", content=topology_conf(cluster, header), cost=Cost.RESTART)
        )
    return tuple(files)


def _daemon(cluster: Cluster, host: Host, header: str, inputs: tuple[str, ...]) -> tuple[Resource, ...]:
    munge = ("file:/etc/munge/munge.key",)
    if host.name == cluster.control.name:
        state = Directory(path=STATE, owner="slurm", group="slurm")
        return (*slurm_packages(cluster, "slurmctld"), state, *_unit("slurmctld", header, inputs + munge))
    if host.group.role == "compute":
        spool = Directory(path=SPOOL, owner="slurm", group="slurm")
        return (*slurm_packages(cluster, "slurmd"), spool, *_unit("slurmd", header, inputs + munge))
    return ()


def _unit(name: str, header: str, inputs: tuple[str, ...]) -> tuple[Resource, ...]:
    limits = File(path=f"/etc/systemd/system/{name}.service.d/clusterwright.conf", content=header + LIMITS)
    return (limits, Unit(name=f"{name}.service", restart_on=(*inputs, limits.id)))
