"""Rules about shared folders: mount points, mount options, quotas, NFS servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within, nested_pairs
from clusterwright.config.cluster import Cluster
from clusterwright.config.source import Loc
from clusterwright.config.storage import Nfs
from clusterwright.errors import closest_name
from clusterwright.i18n import N_, _
from clusterwright.units import format_size

# hier(7) and our own folder; a mount there would hide files of the system or of ours.
SYSTEM_FOLDERS = (
    "/tmp", "/var/tmp",  # nosec B108 # noqa: S108 (named so that nothing is mounted there)
    "/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media",
    "/opt/clusterwright", "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr", "/var/backups",
    "/var/cache", "/var/lib", "/var/local", "/var/lock", "/var/log", "/var/mail", "/var/run", "/var/spool",
)  # fmt: skip
_TOPS = ("/", "/home", "/mnt", "/opt", "/srv", "/var")  # not allowed themselves, but folders below them


_FOLDER_FIX = N_("use another folder, such as /shared, /scratch or /home/shared")
_HOMES = N_(
    "use another folder, such as /shared; /home itself can be an NFS folder without `export` whose server is no "
    "compute host, if ssh.user is root"
)


def storage(cluster: Cluster) -> Iterator[Clash]:
    """Check that no shared or local folder hides a system folder or is inside another one.

    Also that no NFS export is a system folder of its server, and that `free` of a folder is below its `size`.
    """
    shared: list[tuple[str, Loc]] = [
        (folder.path, ("storage", name, "path")) for name, folder in cluster.storage.items()
    ]
    yield from _hiding(cluster, shared)
    yield from _nested(shared)
    yield from _served(cluster)
    yield from _never_enough(cluster)
    for group_name, group in cluster.nodes.items():
        scratch: list[tuple[str, Loc]] = [
            (disk.mount, ("nodes", group_name, "disks", index, "mount"))
            for index, disk in enumerate(group.disks)
            if disk.mount
        ]
        yield from _hiding(cluster, scratch)
        yield from _nested(scratch + shared, only=len(scratch))


def _hiding(cluster: Cluster, folders: list[tuple[str, Loc]]) -> Iterator[Clash]:
    for path, loc in folders:
        user = path.removeprefix("/home/")
        if user in cluster.users:
            message = _(
                "a mount on {path} would hide the home of user `{user}` on every host", path=path, user=user
            )
            yield Clash("reserved-path", message, _(_FOLDER_FIX), (loc, ("users", user)))
        if path == "/home" and _serves_homes(cluster, loc):
            continue
        system = (
            path if path in _TOPS else next((top for top in SYSTEM_FOLDERS if is_within(path, top)), None)
        )
        if system:
            message = _(
                "a mount on {path} would hide system files in {folder} on every host",
                path=path,
                folder=system,
            )
            yield Clash("reserved-path", message, _(_HOMES if path == "/home" else _FOLDER_FIX), (loc,))


def _serves_homes(cluster: Cluster, loc: Loc) -> bool:
    """Return whether the folder is /home from a control host, login host or site server, and hides no existing home.

    The server creates the homes, so it exports /home itself; the login user of `wright` must not have a home there.
    """
    folder = cluster.storage.get(str(loc[1])) if loc[0] == "storage" else None
    if not isinstance(folder, Nfs) or folder.export not in (None, "/home") or cluster.ssh.user != "root":
        return False
    return folder.server not in {
        name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()
    }


def _served(cluster: Cluster) -> Iterator[Clash]:
    """Check that no NFS export is a system folder of its server."""
    for name, folder in cluster.storage.items():
        export = folder.export if isinstance(folder, Nfs) else None
        if export and (export == "/" or any(is_within(export, top) for top in SYSTEM_FOLDERS)):
            message = _(
                "`{name}` would export {export}, which has system files of its server",
                name=name,
                export=export,
            )
            fix = _("export another folder, such as /srv/shared")
            yield Clash("reserved-path", message, fix, (("storage", name, "export"),))


def _never_enough(cluster: Cluster) -> Iterator[Clash]:
    for name, folder in cluster.storage.items():
        if folder.size is not None and folder.free >= folder.size:
            values = {"name": name, "free": format_size(folder.free), "size": format_size(folder.size)}
            message = _("`{name}` must have {free} free, but its size is {size}", **values)
            fix = _("lower free; a tenth of the size is usual")
            yield Clash(
                "free-over-size", message, fix, (("storage", name, "free"), ("storage", name, "size"))
            )


def _nested(folders: list[tuple[str, Loc]], only: int | None = None) -> Iterator[Clash]:
    """Yield a clash for each two nested folders; `only`: one of the two must be among the first so many."""
    for first_index, second_index in nested_pairs([path for path, _loc in folders], only):
        (path, loc), (other_path, other_loc) = folders[first_index], folders[second_index]
        message = _("the mount points {first} and {second} overlap", first=path, second=other_path)
        yield Clash("paths-nested", message, _("mount the two folders side by side"), (loc, other_loc))


# nfs(5) and mount(8); in the last line similar options of NFS clients of storage vendors.
NFS_OPTIONS = frozenset({
    "ac", "acdirmax", "acdirmin", "acl", "acregmax", "acregmin", "actimeo", "async", "atime", "auto", "bg",
    "clientaddr", "context", "cto", "defaults", "defcontext", "dev", "diratime", "exec", "fg", "fsc",
    "fscontext", "group", "hard", "intr", "iversion", "lazytime", "local_lock", "lock", "lookupcache",
    "loud", "mand", "max_connect", "migration", "minorversion", "mounthost", "mountport", "mountproto",
    "mountvers", "namlen", "nconnect", "nfsvers", "noac", "noacl", "noatime", "noauto", "nocto", "nodev",
    "nodiratime", "noexec", "nofail", "nofsc", "nogroup", "nointr", "noiversion", "nolazytime", "nolock",
    "nomand", "nomigration", "noowner", "noposix", "nordirplus", "norelatime", "noresvport", "nosharecache",
    "nosharetransport", "nosoftreval", "nostrictatime", "nosuid", "nosymfollow", "notrunkdiscovery",
    "nouser", "nousers", "owner", "port", "posix", "proto", "rdirplus", "rdma", "relatime", "remount",
    "resvport", "retrans", "retry", "ro", "rootcontext", "rsize", "rw", "sec", "sharecache",
    "sharetransport", "silent", "sloppy", "soft", "softerr", "softreval", "strictatime", "suid", "sync",
    "tcp", "tcp6", "timeo", "trunkdiscovery", "udp", "udp6", "user", "users", "v3", "v4", "vers", "write",
    "wsize", "xprtsec",
    "localports", "mdconnect", "noextend", "remoteports", "spread_reads", "spread_writes",
})  # fmt: skip
_REMEMBERS = ("actimeo", "acregmin", "acregmax", "acdirmin", "acdirmax")
_NAME = 4  # length from which names are compared: v42 and the like resemble too many options


def mount_options(cluster: Cluster) -> Iterator[Clash]:
    """Check for misspelled NFS options, and for `noac` with other cache times; unknown options pass.

    The site's NFS client may have options that are not in the table.
    """
    for name, folder in cluster.storage.items():
        for index, option in enumerate(folder.options if isinstance(folder, Nfs) else ()):
            option_name, equals, value = option.partition("=")
            suggestion = None if option_name in NFS_OPTIONS else closest_name(option_name, NFS_OPTIONS)
            if suggestion and len(option_name) >= _NAME and "," not in option and "." not in option_name:
                message = _("NFS has no mount option `{option}`, so the mount would fail", option=option_name)
                fix = _("did you mean `{suggestion}`?", suggestion=f"{suggestion}{equals}{value}")
                yield Clash("mount-option", message, fix, (("storage", name, "options", index),))
        if isinstance(folder, Nfs):
            yield from _contradicted(name, folder)


def _contradicted(name: str, folder: Nfs) -> Iterator[Clash]:
    """Yield a clash if `noac`, which means actimeo=0 and sync (nfs(5)), is set with another attribute cache time."""
    times = [index for index, option in enumerate(folder.options) if option.partition("=")[0] in _REMEMBERS]
    noac = [index for index, option in enumerate(folder.options) if option == "noac"]
    if times and (folder.noac or noac):
        noac_loc = ("storage", name, "noac") if folder.noac else ("storage", name, "options", noac[0])
        option = folder.options[times[0]]
        yield Clash(
            "noac-and-actimeo",
            _(
                "`{name}` has both noac, which disables attribute caching, and `{option}`",
                name=name,
                option=option,
            ),
            _("remove one of the two options; `{option}` alone is faster", option=option),
            (noac_loc, ("storage", name, "options", times[0])),
        )


def quotas(cluster: Cluster) -> Iterator[Clash]:
    """Check that an NFS folder with a quota is on a disk of its server in this file, with a file system of ours.

    That disk must have no quota of its own.
    """
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.quota is None:
            continue
        loc = ("storage", name, "quota")
        group = next(
            (key for key, node_group in cluster.nodes.items() if folder.server in node_group.names()), None
        )
        if group is None:
            message = _(
                "`{name}` has a quota, but its server {server} is no host of this file",
                name=name,
                server=folder.server,
            )
            fix = _("set quotas on the server, and remove `quota`")
            yield Clash("quota-not-ours", message, fix, (loc, (*loc[:2], "server")))
            continue
        export_path = PurePosixPath(folder.export or folder.path)
        disks = enumerate(cluster.nodes[group].disks)
        on = next(
            (
                (i, disk)
                for i, disk in disks
                if disk.filesystem and export_path.is_relative_to(disk.mount or "-")
            ),
            None,
        )
        if on is None:
            message = _(
                "{export} of {server} is on no disk with a `filesystem` in this file, so quotas cannot be set",
                export=export_path,
                server=folder.server,
            )
            fix = _(
                "add a disk with `mount: /srv/disk` and a `filesystem` to nodes.{group}.disks and export a folder of "
                "it (`export: /srv/disk/{name}`), or remove `quota`",
                group=group,
                name=name,
            )
            yield Clash("quota-not-ours", message, fix, (loc, ("nodes", group)))
        elif on[1].quota:
            message = _("`{name}` and its disk both have a quota, but a file system has one", name=name)
            locs = (loc, ("nodes", group, "disks", on[0], "quota"))
            yield Clash("quota-twice", message, _("remove one of the two quotas"), locs)


def nfs_servers(cluster: Cluster) -> Iterator[Clash]:
    """Check that each server of this file uses one NFS server program, as both use the same port.

    nfs-ganesha needs a package of the distribution or a repository.
    """
    ours = {name: group for group in cluster.nodes.values() for name in group.names()}
    programs: dict[str, tuple[str, str]] = {}
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.server not in ours:
            continue
        loc, server_program = (
            ("storage", name, "server_program"),
            folder.program(in_lab=cluster.lab is not None),
        )
        first_name, first_program = programs.setdefault(folder.server, (name, server_program))
        if first_program != server_program:
            message = _(
                "{server} would run two NFS servers on one port: {first_program} for `{first}`, {program} for `{name}`",
                server=folder.server,
                first=first_name,
                first_program=first_program,
                name=name,
                program=server_program,
            )
            fix = _("set server_program to {program}", program=first_program)
            yield Clash("two-servers", message, fix, (loc, ("storage", first_name)))
        on_server = cluster.with_os(ours[folder.server].os)
        if server_program == "ganesha" and not (
            on_server.platform.has_ganesha or cluster.software.repositories
        ):
            message = _("{os} has no package of nfs-ganesha", os=on_server.os)
            fix = _("add a repository with it to software.repositories, or set server_program to kernel")
            yield Clash("ganesha-no-package", message, fix, (loc, ("software",)))
