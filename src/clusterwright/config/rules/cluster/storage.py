"""Shared folders: where they are mounted, with which options and quotas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within
from clusterwright.config.cluster import Cluster
from clusterwright.config.served import program
from clusterwright.config.source import Loc
from clusterwright.config.storage import Nfs
from clusterwright.errors import closest_name
from clusterwright.i18n import _
from clusterwright.units import format_size

# hier(7), and what we keep on a host; a mount there would hide the system's files, or ours.
_SYSTEM = (
    "/tmp", "/var/tmp",  # noqa: S108 (named so that nothing is mounted there)
    "/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media",
    "/opt/clusterwright", "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr", "/var/backups",
    "/var/cache", "/var/lib", "/var/local", "/var/lock", "/var/log", "/var/mail", "/var/run", "/var/spool",
)  # fmt: skip
_HOME = (
    "; all homes can come from one server where it serves /home by NFS (no `export`), is no compute host, and root "
    "is who logs in"
)
_TOPS = ("/", "/home", "/mnt", "/opt", "/srv", "/var")  # a folder beneath is fine, these themselves are not


def storage(cluster: Cluster) -> Iterator[Clash]:
    """No shared or local folder hides a folder of the system, nor lies in another one."""
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
        yield from _nested(scratch + shared, only=scratch)


def _hiding(cluster: Cluster, folders: list[tuple[str, Loc]]) -> Iterator[Clash]:
    for path, loc in folders:
        user = path.removeprefix("/home/")
        if user in cluster.users:
            yield Clash(
                "reserved-path",
                _(
                    "a mount on {path} would hide the home of user `{user}` on every host",
                    path=path,
                    user=user,
                ),
                _("take a folder of its own, such as /shared, /scratch or /home/shared"),
                (loc, ("users", user)),
            )
        if path == "/home" and _serves_homes(cluster, loc):
            continue
        system = path if path in _TOPS else next((top for top in _SYSTEM if is_within(path, top)), None)
        if system:
            yield Clash(
                "reserved-path",
                _(
                    "a mount on {path} would hide what the system keeps in {system} on every host",
                    path=path,
                    system=system,
                ),
                _("take a folder of its own, such as /shared, /scratch or /home/shared")
                + (_HOME if path == "/home" else ""),
                (loc,),
            )


def _serves_homes(cluster: Cluster, loc: Loc) -> bool:
    """True of /home of a control or login host, or of the site, where nobody's own home is hidden by it.

    Its server makes the homes, so it serves /home itself; who logs in for us must not have a home there.
    """
    folder = cluster.storage.get(str(loc[1])) if loc[0] == "storage" else None
    if not isinstance(folder, Nfs) or folder.export not in (None, "/home") or cluster.ssh.user != "root":
        return False
    return folder.server not in {
        name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()
    }


def _served(cluster: Cluster) -> Iterator[Clash]:
    """A folder of the system is not for other hosts to read and write."""
    for name, folder in cluster.storage.items():
        export = folder.export if isinstance(folder, Nfs) else None
        if export and (export == "/" or any(is_within(export, top) for top in _SYSTEM)):
            yield Clash(
                "reserved-path",
                _(
                    "`{name}` would serve {export} to every host, and there the system keeps its own files",
                    name=name,
                    export=export,
                ),
                _("serve a folder of its own, such as /srv/shared"),
                (("storage", name, "export"),),
            )


def _never_enough(cluster: Cluster) -> Iterator[Clash]:
    for name, folder in cluster.storage.items():
        if folder.size is not None and folder.free >= folder.size:
            yield Clash(
                "free-over-size",
                _(
                    "`{name}` is to have {size} free at all times, and holds {size2}",
                    name=name,
                    size=format_size(folder.free),
                    size2=format_size(folder.size),
                ),
                _("lower free; a tenth of the size is usual"),
                (("storage", name, "free"), ("storage", name, "size")),
            )


def _nested(folders: list[tuple[str, Loc]], only: list[tuple[str, Loc]] | None = None) -> Iterator[Clash]:
    for folder, other_folder in combinations(folders, 2):
        if only is not None and folder not in only:
            continue
        if is_within(folder[0], other_folder[0]) or is_within(other_folder[0], folder[0]):
            yield Clash(
                "paths-nested",
                _(
                    "{folder} and {other_folder} are mounted over each other",
                    folder=folder[0],
                    other_folder=other_folder[0],
                ),
                _("mount them side by side"),
                (folder[1], other_folder[1]),
            )


# nfs(5) and mount(8), and in the last line those of clients of filers' makers, which are near to them.
_NFS_OPTIONS = frozenset({
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
_NAME = 4  # letters; v42 and its like are near to too much


def mount_options(cluster: Cluster) -> Iterator[Clash]:
    """Only what is nearly one of them is refused: the site's client may know more than we do."""
    for name, folder in cluster.storage.items():
        for index, option in enumerate(folder.options if isinstance(folder, Nfs) else ()):
            option_name, equals, value = option.partition("=")
            suggestion = None if option_name in _NFS_OPTIONS else closest_name(option_name, _NFS_OPTIONS)
            if suggestion and len(option_name) >= _NAME and "," not in option and "." not in option_name:
                yield Clash(
                    "mount-option",
                    _(
                        "NFS knows no mount option `{option_name}`, and mount would refuse the folder on "
                        "every host",
                        option_name=option_name,
                    ),
                    _(
                        "did you mean `{suggestion}{equals}{value}`?",
                        suggestion=suggestion,
                        equals=equals,
                        value=value,
                    ),
                    (("storage", name, "options", index),),
                )
        if isinstance(folder, Nfs):
            yield from _contradicted(name, folder)


def _contradicted(name: str, folder: Nfs) -> Iterator[Clash]:
    """Remembering nothing is actimeo=0 and sync (nfs(5)); a time beside it says the opposite."""
    times = [index for index, option in enumerate(folder.options) if option.partition("=")[0] in _REMEMBERS]
    noac = [index for index, option in enumerate(folder.options) if option == "noac"]
    if times and (folder.noac or noac):
        noac_loc = ("storage", name, "noac") if folder.noac else ("storage", name, "options", noac[0])
        option = folder.options[times[0]]
        yield Clash(
            "noac-and-actimeo",
            _(
                "`{name}` is to remember nothing of files (noac) and to remember it for a time ({option})",
                name=name,
                option=option,
            ),
            _("take one of them out; `{option}` alone is the cheaper", option=option),
            (noac_loc, ("storage", name, "options", times[0])),
        )


def quotas(cluster: Cluster) -> Iterator[Clash]:
    """A served folder with a quota lies on a disk that we make, on a host of the cluster, which has none itself."""
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.quota is None:
            continue
        loc = ("storage", name, "quota")
        group = next(
            (key for key, node_group in cluster.nodes.items() if folder.server in node_group.names()), None
        )
        if group is None:
            message = _(
                "`{name}` is served by {server}, which is no host of this file",
                name=name,
                server=folder.server,
            )
            yield Clash(
                "quota-not-ours",
                message,
                _("set quotas there, or take `quota` out"),
                (loc, (*loc[:2], "server")),
            )
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
                "{export_path} of {server} lies on no disk that we make, so nothing counts there",
                export_path=export_path,
                server=folder.server,
            )
            fix = _(
                "add a disk with `mount: /srv/disk` and a `filesystem` to nodes.{group}.disks and "
                "serve a folder of it (`export: /srv/disk/{name}`), or take `quota` out",
                group=group,
                name=name,
            )
            yield Clash("quota-not-ours", message, fix, (loc, ("nodes", group)))
        elif on[1].quota:
            message = _(
                "`{name}` lies on a disk that has a quota of its own, and a file system has one", name=name
            )
            yield Clash(
                "quota-twice",
                message,
                _("take one of them out"),
                (loc, ("nodes", group, "disks", on[0], "quota")),
            )


def nfs_servers(cluster: Cluster) -> Iterator[Clash]:
    """The kernel and nfs-ganesha want the same port; not every distribution has packages of the latter."""
    ours = {name for group in cluster.nodes.values() for name in group.names()}
    programs: dict[str, tuple[str, str]] = {}
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.server not in ours:
            continue
        loc, server_program = ("storage", name, "server_program"), program(cluster, folder)
        first_name, first_program = programs.setdefault(folder.server, (name, server_program))
        if first_program != server_program:
            message = _(
                "{server} is to serve `{first_name}` by {first_program} and `{name}` by "
                "{server_program}; one has the port",
                server=folder.server,
                first_name=first_name,
                first_program=first_program,
                name=name,
                server_program=server_program,
            )
            yield Clash(
                "two-servers",
                message,
                _("set server_program to {first_program}", first_program=first_program),
                (loc, ("storage", first_name)),
            )
        if server_program == "ganesha" and not (
            cluster.platform.has_ganesha or cluster.software.repositories
        ):
            message = _("{os} has no package of nfs-ganesha", os=cluster.os)
            fix = _("name a repository that has it in software.repositories, or set server_program to kernel")
            yield Clash("ganesha-no-package", message, fix, (loc, ("software",)))
