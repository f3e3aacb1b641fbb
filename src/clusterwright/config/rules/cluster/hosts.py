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
from clusterwright.i18n import _
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
                _(
                    "{fold} is in node group `{group_name}` and in `{other_name}`",
                    fold=fold(shared_hosts),
                    group_name=group_name,
                    other_name=other_name,
                ),
                _("take {fold} out of one of them", fold=fold(shared_hosts)),
                (("nodes", group_name, "hosts"), ("nodes", other_name, "hosts")),
            )


def _absent(cluster: Cluster, name: str) -> Iterator[Clash]:
    group = cluster.nodes[name]
    locs = (("nodes", name, "absent"), ("nodes", name, "hosts"))
    absent_hosts = expand(group.absent) if group.absent else ()
    if strangers := [host for host in absent_hosts if host not in group.all_names()]:
        message = _(
            "{fold} is absent from node group `{name}`, but is none of its hosts",
            fold=fold(strangers),
            name=name,
        )
        yield Clash(
            "absent-host", message, _("name hosts of {hosts}, or take the line out", hosts=group.hosts), locs
        )
    elif not group.names():
        message = _("every host of node group `{name}` is absent", name=name)
        yield Clash("absent-host", message, _("keep one, or take `{name}` out of the file", name=name), locs)


def roles(cluster: Cluster) -> Iterator[Clash]:
    """There is a control host, and each group keeps memory for jobs."""
    if not any(group.role == "control" for group in cluster.nodes.values()):
        yield Clash(
            "no-control-host",
            _("no node group has the role control, and slurmctld needs a host"),
            _("add a node group with `role: control`"),
            (("nodes",),),
        )
    for name, group in cluster.nodes.items():
        if group.memory_reserved >= group.memory:
            yield Clash(
                "memory-reserved",
                _("node group `{name}` keeps all of its memory from jobs", name=name),
                _("lower memory_reserved below memory; 1GiB to 8GiB is usual"),
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
                    _(
                        "`{host}-{network}` is a host of `{other_group}`, and the name of `{host}` on the "
                        "{network} network",
                        host=host,
                        network=network,
                        other_group=other_group,
                    ),
                    _("rename the host `{host}-{network}`", host=host, network=network),
                    (("nodes", other_group, "hosts"), ("nodes", group, "addresses", network)),
                )
        if host in _SELF_NAMES:
            yield Clash(
                "reserved-name",
                _("`{host}` is what every host calls itself", host=host),
                _("choose another name"),
                (("nodes", group, "hosts"),),
            )


def access(cluster: Cluster) -> Iterator[Clash]:
    """Who logs in may use sudo there, and sshd has a port of its own."""
    user = cluster.users.get(cluster.ssh.user)
    if user is not None and not user.admin:
        yield Clash(
            "access-not-admin",
            _(
                "`{user}` is to log in and change the hosts, but may not use sudo there",
                user=cluster.ssh.user,
            ),
            _("set `admin: true` for `{user}`, or log in as another user", user=cluster.ssh.user),
            (("ssh", "user"), ("users", cluster.ssh.user, "admin")),
        )
    if service := USED.get(cluster.ssh.port):
        yield Clash(
            "port-range",
            _("sshd is to listen on {port}, where {service} listens", port=cluster.ssh.port, service=service),
            _("take another port; 22 is usual"),
            (("ssh", "port"),),
        )


def time(cluster: Cluster) -> Iterator[Clash]:
    """No host of the cluster is the source of the control hosts: they are the source of all others."""
    ours = members(cluster)
    for index, server in enumerate(cluster.time.servers):
        if server in ours:
            yield Clash(
                "time-loop",
                _("`{server}` is to give the control hosts the time, and takes it from them", server=server),
                _(
                    "name a server outside the cluster, or take it out: the control hosts then keep "
                    "their own time"
                ),
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
                _(
                    "{size} of huge pages and {size2} for the system leave nothing of the {size3} of "
                    "`{name}`",
                    size=format_size(pages),
                    size2=format_size(reserved),
                    size3=format_size(group.memory),
                    name=name,
                ),
                _("lower system.hugepages; a training needs none, some MPI and RDMA programs a few GiB"),
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
                _(
                    "partition `{name}` has {gpus} GPUs; with {percent} % kept free its jobs may hold none",
                    name=name,
                    gpus=gpus,
                    percent=percent,
                ),
                _("set headroom_percent to {value} or less", value=100 - -(-100 // gpus))
                if gpus > 1
                else _("take it out"),
                (("partitions", name, "headroom_percent"), ("partitions", name, "nodes")),
            )


def local_servers(cluster: Cluster) -> Iterator[Clash]:
    """No file or time server goes by the name that each host calls itself."""
    for server, loc in _servers(cluster):
        if server.partition(".")[0] == "localhost" or server.startswith("127."):
            yield Clash(
                "server-is-localhost",
                _("`{server}` means another host on every host: each would ask itself", server=server),
                _("name the host of this file, or the server of the site, as the other hosts reach it"),
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
        message = _(
            "{filesystem} is to be made, and nothing says where it is mounted", filesystem=disk.filesystem
        )
        return (
            Clash("disk-incomplete", message, _("say where: `mount: /scratch`"), ((*loc, "filesystem"),)),
        )
    option = "raid" if disk.raid != "none" else "quota" if disk.quota else ""
    if option and not disk.filesystem:
        message = _(
            "{option} is for a file system that we make, and this one is left to the site", option=option
        )
        fix = _(
            "say which we are to make (`filesystem: xfs`; only empty disks are taken), or take "
            "`{option}` out",
            option=option,
        )
        return (Clash("disk-incomplete", message, fix, ((*loc, option),)),)
    return ()


def _raid(disk: Disk, loc: Loc) -> Iterator[Clash]:
    fix = ""
    if disk.filesystem and disk.count > 1 and disk.raid == "none":
        message = _("{count} disks are to be one file system, and nothing joins them", count=disk.count)
        fix = _("set raid to 0 for scratch that may be lost, or a row for each disk with a mount of its own")
    elif disk.raid == 0 and disk.count < _PAIR:
        message, fix = "RAID 0 of one disk is that disk", "take `raid` out"
    elif disk.raid == 10 and (disk.count < _FEWEST_OF_10 or disk.count % 2):
        message = _(
            "RAID 10 keeps everything twice, on pairs of disks, and there are {count}", count=disk.count
        )
        even = disk.count // 2 * 2
        lower = f"set count to {even}, or " if even >= _FEWEST_OF_10 else ""
        fix = _("{lower}add a disk, or set raid to 0 for scratch that may be lost", lower=lower)
    if fix:
        yield Clash("disk-raid", message, fix, ((*loc, "raid"), (*loc, "count")))
