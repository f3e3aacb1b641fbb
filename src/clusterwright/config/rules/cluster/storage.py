"""Folders are mounted where nothing else lives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.storage import Nfs
from clusterwright.units import format_size

Loc = tuple[str | int, ...]

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
    for path, at in folders:
        user = path.removeprefix("/home/")
        if user in cluster.users:
            yield Clash(
                "reserved-path",
                f"a mount on {path} would hide the home of user `{user}` on every host",
                "take a folder of its own, such as /shared, /scratch or /home/shared",
                (at, ("users", user)),
            )
        if path == "/home" and _gives_homes(cluster, at):
            continue
        system = path if path in _TOPS else next((top for top in _SYSTEM if _within(path, top)), None)
        if system:
            yield Clash(
                "reserved-path",
                f"a mount on {path} would hide what the system keeps in {system} on every host",
                "take a folder of its own, such as /shared, /scratch or /home/shared"
                + (_HOME if path == "/home" else ""),
                (at,),
            )


def _gives_homes(cluster: Cluster, at: Loc) -> bool:
    """True of /home of a control or login host, or of the site, where nobody's own home is hidden by it.

    Its server makes the homes, so it serves /home itself; who logs in for us must not have a home there.
    """
    folder = cluster.storage.get(str(at[1])) if at[0] == "storage" else None
    if not isinstance(folder, Nfs) or folder.export not in (None, "/home") or cluster.ssh.user != "root":
        return False
    return folder.server not in {
        name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()
    }


def _served(cluster: Cluster) -> Iterator[Clash]:
    """A folder of the system is not for other hosts to read and write."""
    for name, folder in cluster.storage.items():
        export = folder.export if isinstance(folder, Nfs) else None
        if export and (export == "/" or any(_within(export, top) for top in _SYSTEM)):
            yield Clash(
                "reserved-path",
                f"`{name}` would serve {export} to every host, and there the system keeps its own files",
                "serve a folder of its own, such as /srv/shared",
                (("storage", name, "export"),),
            )


def _never_enough(cluster: Cluster) -> Iterator[Clash]:
    for name, folder in cluster.storage.items():
        if folder.size is not None and folder.free >= folder.size:
            yield Clash(
                "free-over-size",
                f"`{name}` is to have {format_size(folder.free)} free at all times, and holds "
                f"{format_size(folder.size)}",
                "lower free; a tenth of the size is usual",
                (("storage", name, "free"), ("storage", name, "size")),
            )


def _nested(folders: list[tuple[str, Loc]], only: list[tuple[str, Loc]] | None = None) -> Iterator[Clash]:
    for one, other in combinations(folders, 2):
        if only is not None and one not in only:
            continue
        if _within(one[0], other[0]) or _within(other[0], one[0]):
            yield Clash(
                "paths-nested",
                f"{one[0]} and {other[0]} are mounted over each other",
                "mount them side by side",
                (one[1], other[1]),
            )


def _within(path: str, top: str) -> bool:
    return PurePosixPath(path).is_relative_to(top)
