"""Rules about hosts: groups, names, access, memory, time servers, local disks."""

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
from clusterwright.units import MiB, format_size, human_size


def hosts(cluster: Cluster) -> Iterator[Clash]:
    """Check that no host is in two node groups; absent hosts are hosts of their group, and not all of them."""
    for name in cluster.nodes:
        yield from _absent(cluster, name)
    members = {name: frozenset(group.all_names()) for name, group in cluster.nodes.items()}
    for (group_name, ours), (other_name, theirs) in combinations(members.items(), 2):
        if shared_hosts := sorted(ours & theirs):
            yield Clash(
                "host-in-two-groups",
                _(
                    "{hosts} is in both node groups `{first}` and `{second}`",
                    hosts=fold(shared_hosts),
                    first=group_name,
                    second=other_name,
                ),
                _("remove {hosts} from one of the two groups", hosts=fold(shared_hosts)),
                (("nodes", group_name, "hosts"), ("nodes", other_name, "hosts")),
            )


def _absent(cluster: Cluster, name: str) -> Iterator[Clash]:
    group = cluster.nodes[name]
    locs = (("nodes", name, "absent"), ("nodes", name, "hosts"))
    absent_hosts = expand(group.absent) if group.absent else ()
    names = frozenset(group.all_names())
    if strangers := [host for host in absent_hosts if host not in names]:
        message = _(
            "`absent` of node group `{name}` has {hosts}, not in `hosts`", name=name, hosts=fold(strangers)
        )
        yield Clash(
            "absent-host", message, _("use hosts of {hosts}, or remove the line", hosts=group.hosts), locs
        )
    elif not group.names():
        message = _("every host of node group `{name}` is absent", name=name)
        yield Clash(
            "absent-host", message, _("shorten `absent`, or remove node group `{name}`", name=name), locs
        )


def roles(cluster: Cluster) -> Iterator[Clash]:
    """Check that the cluster has a control host, and each group leaves memory for jobs.

    A site's own slurm.conf may reserve all by default.
    """
    if not any(group.role == "control" for group in cluster.nodes.values()):
        yield Clash(
            "no-control-host",
            _("no node group has the role control, so slurmctld has no host"),
            _("add a node group with `role: control`"),
            (("nodes",),),
        )
    for name, group in cluster.nodes.items():
        if group.free_memory_mib <= 0 and not (
            cluster.slurm.is_of_site and "memory_reserved" not in group.model_fields_set
        ):
            yield Clash(
                "memory-reserved",
                _("node group `{name}` reserves all its memory for the system", name=name),
                _(
                    "lower memory_reserved below {size}, the part of memory that Slurm may use; 1GiB to 8GiB is usual",
                    size=human_size(group.usable_memory_mib * MiB),
                ),
                (("nodes", name, "memory_reserved"), ("nodes", name, "memory")),
            )


# Names for loopback and multicast in /etc/hosts of Debian and Rocky.
_SELF_NAMES = {
    "localhost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-allnodes",
    "ip6-allrouters",
    "broadcasthost",
}


def aliases(cluster: Cluster) -> Iterator[Clash]:
    """Check that no host has the name of another host's compute or storage address, nor of localhost.

    A site's own slurm.conf may have the latter.
    """
    groups = members(cluster)
    for host, group in groups.items():
        for network in cluster.nodes[group].addresses:
            other_group = groups.get(f"{host}-{network}")
            if network != "management" and other_group is not None:
                values = {"name": f"{host}-{network}", "group": other_group, "host": host, "network": network}
                message = _(
                    "`{name}` is both a host of `{group}` and the name of `{host}` on the {network} network",
                    **values,
                )
                fix = _("rename the host `{name}`", name=f"{host}-{network}")
                locs = (("nodes", other_group, "hosts"), ("nodes", group, "addresses", network))
                yield Clash("name-taken", message, fix, locs)
        if host in _SELF_NAMES and not cluster.slurm.is_of_site:
            yield Clash(
                "reserved-name",
                _("`{host}` is a reserved name in /etc/hosts of every host", host=host),
                _("choose another name"),
                (("nodes", group, "hosts"),),
            )


def access(cluster: Cluster) -> Iterator[Clash]:
    """Check that the login user, if it is in `users`, may use sudo, and no other service uses sshd's port."""
    user = cluster.users.get(cluster.ssh.user)
    if user is not None and not user.admin:
        yield Clash(
            "access-not-admin",
            _("ssh.user is `{user}`, who may not use sudo on the hosts", user=cluster.ssh.user),
            _("set `admin: true` for `{user}`, or set another ssh.user", user=cluster.ssh.user),
            (("ssh", "user"), ("users", cluster.ssh.user, "admin")),
        )
    if service := USED.get(cluster.ssh.port):
        yield Clash(
            "port-range",
            _("ssh.port is {port}, the port of {service}", port=cluster.ssh.port, service=_(service)),
            _("use another port; 22 is usual"),
            (("ssh", "port"),),
        )


def time(cluster: Cluster) -> Iterator[Clash]:
    """Check that time servers are outside the cluster, whose hosts synchronize with the control hosts."""
    ours = members(cluster)
    for index, server in enumerate(cluster.time.servers):
        if server in ours:
            yield Clash(
                "time-loop",
                _("time server `{server}` itself synchronizes with the control hosts", server=server),
                _(
                    "name a time server outside the cluster, or remove this server: the control hosts then "
                    "use their own clocks"
                ),
                (("time", "servers", index), ("nodes",)),
            )


def system(cluster: Cluster) -> Iterator[Clash]:
    """Check that huge pages and reserved memory together are less than the memory of every compute host.

    Nothing without huge pages; a group that reserves all its memory is the clash of `roles`.
    """
    pages = cluster.system.hugepages
    for name, group in cluster.nodes.items():
        reserved = group.memory_reserved
        if pages and group.role == "compute" and reserved < group.memory <= pages + reserved:
            message = _(
                "{hugepages} of huge pages and {reserved} for the system use all {memory} of `{name}`",
                hugepages=format_size(pages),
                reserved=format_size(reserved),
                memory=format_size(group.memory),
                name=name,
            )
            fix = _("lower system.hugepages; a training needs none, some MPI and RDMA programs a few GiB")
            yield Clash(
                "hugepages-memory", message, fix, (("system", "hugepages"), ("nodes", name, "memory"))
            )


def headroom(cluster: Cluster) -> Iterator[Clash]:
    """Check that a partition with headroom leaves at least one GPU to its jobs; partitions without GPUs pass."""
    for name, partition in cluster.partitions.items():
        groups = [cluster.nodes[group] for group in partition.nodes if group in cluster.nodes]
        gpus = sum(group.gpus.count * len(group.names()) for group in groups if group.gpus)
        percent = partition.headroom_percent
        if gpus and percent and gpus * (100 - percent) // 100 < 1:
            values = {"partition": name, "gpus": gpus, "percent": percent}
            message = _(
                "headroom of {percent}% leaves no GPU of partition `{partition}` to its jobs (GPUs: {gpus})",
                **values,
            )
            limit = 100 - -(-100 // gpus)
            fix = (
                _("set headroom_percent to {limit} or less", limit=limit)
                if gpus > 1
                else _("remove headroom_percent")
            )
            locs = (("partitions", name, "headroom_percent"), ("partitions", name, "nodes"))
            yield Clash("headroom-too-high", message, fix, locs)


def local_servers(cluster: Cluster) -> Iterator[Clash]:
    """Check that no file or time server is localhost, which is a different host on each host."""
    for server, loc in _servers(cluster):
        if server.partition(".")[0] == "localhost" or server.startswith("127."):
            yield Clash(
                "server-is-localhost",
                _(
                    "`{server}` is the local host on every host, so each would connect to itself",
                    server=server,
                ),
                _("use the name or address by which the other hosts reach the server"),
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


_PAIR, _FEWEST_OF_10 = 2, 4  # md(4): RAID 10 with fewer disks, or an odd number, mirrors unevenly


def disks(cluster: Cluster) -> Iterator[Clash]:
    """Check that several disks have a RAID level that supports their number, and a file system has a mount point."""
    for name, group in cluster.nodes.items():
        for index, disk in enumerate(group.disks):
            loc: Loc = ("nodes", name, "disks", index)
            yield from _incomplete(disk, loc) or _raid(disk, loc)


def _incomplete(disk: Disk, loc: Loc) -> tuple[Clash, ...]:
    if disk.filesystem and disk.mount is None:
        message = _("filesystem is {filesystem}, but mount is not set", filesystem=disk.filesystem)
        fix = _("add a mount point, such as `mount: /scratch`")
        return (Clash("disk-incomplete", message, fix, ((*loc, "filesystem"),)),)
    option = "raid" if disk.raid != "none" else "quota" if disk.quota else ""
    if option and not disk.filesystem:
        message = _("{option} of a disk needs `filesystem`, which is not set", option=option)
        fix = _("add `filesystem: xfs` (only empty disks are formatted), or remove `{option}`", option=option)
        return (Clash("disk-incomplete", message, fix, ((*loc, option),)),)
    return ()


def _raid(disk: Disk, loc: Loc) -> Iterator[Clash]:
    fix = ""
    if disk.filesystem and disk.count > 1 and disk.raid == "none":
        message = _("{count} disks share one file system, but raid is none", count=disk.count)
        fix = _(
            "set raid to 0 for scratch that may be lost, or add one item per disk, each with its own mount"
        )
    elif disk.raid == 0 and disk.count < _PAIR:
        message, fix = _("RAID 0 needs at least 2 disks"), _("remove `raid`")
    elif disk.raid == 10 and (disk.count < _FEWEST_OF_10 or disk.count % 2):
        message = _("RAID 10 needs an even number of disks, at least 4, not {count}", count=disk.count)
        even = disk.count // 2 * 2
        if even >= _FEWEST_OF_10:
            fix = _(
                "set count to {count}, add a disk, or set raid to 0 for scratch that may be lost", count=even
            )
        else:
            fix = _("add disks, or set raid to 0 for scratch that may be lost")
    if fix:
        yield Clash("disk-raid", message, fix, ((*loc, "raid"), (*loc, "count")))
