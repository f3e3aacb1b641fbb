"""Hosts: their groups, names and addresses for access, memory, time and local disks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.config.clash import Clash, members
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.nodes import Disk
from clusterwright.config.rules.cluster.slurm import USED
from clusterwright.config.source import Loc
from clusterwright.config.storage import Beegfs, Ceph, Lustre, Nfs
from clusterwright.units import format_size


def hosts(cluster: Cluster) -> Iterator[Clash]:
    """No host is in two node groups; only hosts of a group are absent from it, and not all of them."""
    for name in cluster.nodes:
        yield from _absent(cluster, name)
    members = {name: frozenset(group.all_names()) for name, group in cluster.nodes.items()}
    for (group_name, ours), (other_name, theirs) in combinations(members.items(), 2):
        if shared_hosts := sorted(ours & theirs):
            yield Clash(
                "host-in-two-groups",
                f"{fold(shared_hosts)} is in node group `{group_name}` and in `{other_name}`",
                f"take {fold(shared_hosts)} out of one of them",
                (("nodes", group_name, "hosts"), ("nodes", other_name, "hosts")),
            )


def _absent(cluster: Cluster, name: str) -> Iterator[Clash]:
    group = cluster.nodes[name]
    locs = (("nodes", name, "absent"), ("nodes", name, "hosts"))
    absent_hosts = expand(group.absent) if group.absent else ()
    if strangers := [host for host in absent_hosts if host not in group.all_names()]:
        message = f"{fold(strangers)} is absent from node group `{name}`, but is none of its hosts"
        yield Clash("absent-host", message, f"name hosts of {group.hosts}, or take the line out", locs)
    elif not group.names():
        message = f"every host of node group `{name}` is absent"
        yield Clash("absent-host", message, f"keep one, or take `{name}` out of the file", locs)


def roles(cluster: Cluster) -> Iterator[Clash]:
    """There is a control host, and each group keeps memory for jobs."""
    if not any(group.role == "control" for group in cluster.nodes.values()):
        yield Clash(
            "no-control-host",
            "no node group has the role control, and slurmctld needs a host",
            "add a node group with `role: control`",
            (("nodes",),),
        )
    for name, group in cluster.nodes.items():
        if group.memory_reserved >= group.memory:
            yield Clash(
                "memory-reserved",
                f"node group `{name}` keeps all of its memory from jobs",
                "lower memory_reserved below memory; 1GiB to 8GiB is usual",
                (("nodes", name, "memory_reserved"), ("nodes", name, "memory")),
            )


# Names that every host gives itself (Debian's and Rocky's /etc/hosts).
_SELF_NAMES = {
    "localhost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-allnodes",
    "ip6-allrouters",
    "broadcasthost",
}


def aliases(cluster: Cluster) -> Iterator[Clash]:
    """No host is called as another is on its compute or storage network, nor as every host calls itself."""
    groups = members(cluster)
    for host, group in groups.items():
        for network in cluster.nodes[group].addresses:
            other_group = groups.get(f"{host}-{network}")
            if network != "management" and other_group is not None:
                yield Clash(
                    "name-taken",
                    f"`{host}-{network}` is a host of `{other_group}`, and the name of `{host}` on the "
                    f"{network} network",
                    f"rename the host `{host}-{network}`",
                    (("nodes", other_group, "hosts"), ("nodes", group, "addresses", network)),
                )
        if host in _SELF_NAMES:
            yield Clash(
                "reserved-name",
                f"`{host}` is what every host calls itself",
                "choose another name",
                (("nodes", group, "hosts"),),
            )


def access(cluster: Cluster) -> Iterator[Clash]:
    """Who logs in may use sudo there, and sshd has a port of its own."""
    user = cluster.users.get(cluster.ssh.user)
    if user is not None and not user.admin:
        yield Clash(
            "access-not-admin",
            f"`{cluster.ssh.user}` is to log in and change the hosts, but may not use sudo there",
            f"set `admin: true` for `{cluster.ssh.user}`, or log in as another user",
            (("ssh", "user"), ("users", cluster.ssh.user, "admin")),
        )
    if service := USED.get(cluster.ssh.port):
        yield Clash(
            "port-range",
            f"sshd is to listen on {cluster.ssh.port}, where {service} listens",
            "take another port; 22 is usual",
            (("ssh", "port"),),
        )


def time(cluster: Cluster) -> Iterator[Clash]:
    """No host of the cluster is the source of the control hosts: they are the source of all others."""
    ours = members(cluster)
    for index, server in enumerate(cluster.time.servers):
        if server in ours:
            yield Clash(
                "time-loop",
                f"`{server}` is to give the control hosts the time, and takes it from them",
                "name a server outside the cluster, or take it out: the control hosts then keep their own time",
                (("time", "servers", index), ("nodes",)),
            )


def system(cluster: Cluster) -> Iterator[Clash]:
    """Huge pages and what is kept for the system are less than the memory of every compute host."""
    pages = cluster.system.hugepages
    for name, group in cluster.nodes.items():
        reserved = group.memory_reserved
        if pages and group.role == "compute" and reserved < group.memory <= pages + reserved:
            yield Clash(
                "hugepages-memory",
                f"{format_size(pages)} of huge pages and {format_size(reserved)} for the system leave nothing "
                f"of the {format_size(group.memory)} of `{name}`",
                "lower system.hugepages; a training needs none, some MPI and RDMA programs a few GiB",
                (("system", "hugepages"), ("nodes", name, "memory")),
            )


def headroom(cluster: Cluster) -> Iterator[Clash]:
    """At least one GPU is left to the jobs of a partition that keeps head-room."""
    for name, partition in cluster.partitions.items():
        groups = [cluster.nodes[group] for group in partition.nodes if group in cluster.nodes]
        gpus = sum(group.gpus.count * len(group.names()) for group in groups if group.gpus)
        percent = partition.headroom_percent
        if gpus and percent and gpus * (100 - percent) // 100 < 1:
            yield Clash(
                "headroom-too-high",
                f"partition `{name}` has {gpus} GPUs; with {percent} % kept free its jobs may hold none",
                f"set headroom_percent to {100 - -(-100 // gpus)} or less" if gpus > 1 else "take it out",
                (("partitions", name, "headroom_percent"), ("partitions", name, "nodes")),
            )


def local_servers(cluster: Cluster) -> Iterator[Clash]:
    """No file or time server goes by the name that each host calls itself."""
    for server, loc in _servers(cluster):
        if server.partition(".")[0] == "localhost" or server.startswith("127."):
            yield Clash(
                "server-is-localhost",
                f"`{server}` means another host on every host: each would ask itself",
                "name the host of this file, or the server of the site, as the other hosts reach it",
                (loc,),
            )


def _servers(cluster: Cluster) -> Iterator[tuple[str, Loc]]:
    for name, folder in cluster.storage.items():
        if isinstance(folder, Nfs):
            yield folder.server, ("storage", name, "server")
        elif isinstance(folder, Beegfs):
            yield folder.manager, ("storage", name, "manager")
        elif isinstance(folder, Lustre | Ceph):
            field = "servers" if isinstance(folder, Lustre) else "monitors"
            for index, server in enumerate(getattr(folder, field)):
                yield server, ("storage", name, field, index)
    for index, server in enumerate(cluster.time.servers):
        yield server, ("time", "servers", index)


_PAIR, _FEWEST_OF_10 = 2, 4  # md(4): RAID 10 of fewer disks, or of an odd number, keeps its copies unevenly


def disks(cluster: Cluster) -> Iterator[Clash]:
    """Several disks become one by RAID, of a number that it can use; what is made has a place."""
    for name, group in cluster.nodes.items():
        for index, disk in enumerate(group.disks):
            loc: Loc = ("nodes", name, "disks", index)
            yield from _incomplete(disk, loc) or _raid(disk, loc)


def _incomplete(disk: Disk, loc: Loc) -> tuple[Clash, ...]:
    if disk.filesystem and disk.mount is None:
        message = f"{disk.filesystem} is to be made, and nothing says where it is mounted"
        return (Clash("disk-incomplete", message, "say where: `mount: /scratch`", ((*loc, "filesystem"),)),)
    option = "raid" if disk.raid != "none" else "quota" if disk.quota else ""
    if option and not disk.filesystem:
        message = f"{option} is for a file system that we make, and this one is left to the site"
        fix = f"say which we are to make (`filesystem: xfs`; only empty disks are taken), or take `{option}` out"
        return (Clash("disk-incomplete", message, fix, ((*loc, option),)),)
    return ()


def _raid(disk: Disk, loc: Loc) -> Iterator[Clash]:
    fix = ""
    if disk.filesystem and disk.count > 1 and disk.raid == "none":
        message = f"{disk.count} disks are to be one file system, and nothing joins them"
        fix = "set raid to 0 for scratch that may be lost, or a row for each disk with a mount of its own"
    elif disk.raid == 0 and disk.count < _PAIR:
        message, fix = "RAID 0 of one disk is that disk", "take `raid` out"
    elif disk.raid == 10 and (disk.count < _FEWEST_OF_10 or disk.count % 2):
        message = f"RAID 10 keeps everything twice, on pairs of disks, and there are {disk.count}"
        even = disk.count // 2 * 2
        lower = f"set count to {even}, or " if even >= _FEWEST_OF_10 else ""
        fix = f"{lower}add a disk, or set raid to 0 for scratch that may be lost"
    if fix:
        yield Clash("disk-raid", message, fix, ((*loc, "raid"), (*loc, "count")))
