"""Network folders that the hosts of a site have in common, as `storage` of the cluster file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.adopt.groups import free_name
from clusterwright.adopt.host_texts import Line, file_lines
from clusterwright.adopt.recorded import RecordedHost
from clusterwright.check.facts.mounts import mounts
from clusterwright.config.clash import is_within
from clusterwright.config.rules.cluster.storage import NFS_OPTIONS, SYSTEM_FOLDERS

_NETWORK_KINDS = frozenset({"nfs", "nfs4", "lustre", "ceph", "beegfs", "gpfs", "fuse.ceph", "fuse.juicefs"})
_NFS_KINDS = frozenset({"nfs", "nfs4"})
# Folders that a cluster file cannot have as storage: a mount there would hide the system's own files.
_EXCLUDED_FOLDERS = frozenset({"/", "/home", "/mnt", "/opt", "/srv", "/var"})
_PATH = re.compile(r"/[A-Za-z0-9._/+@=,-]{1,1023}")
_NFS_SOURCE = re.compile(r"([a-z0-9][a-z0-9.-]{0,252}):(/[A-Za-z0-9._/+@=,-]{0,1023})")
_OPTION = re.compile(r"[a-z_]+(=[A-Za-z0-9_.:-]+)?")
# Of fstab(5) and systemd.mount(5): they say when a folder is mounted, not how.
_GENERAL_OPTIONS = frozenset({"defaults", "rw", "auto", "noauto", "nofail", "_netdev", "user", "users"})
_SYSTEM_MOUNTS = ("/", "/boot", "/boot/efi", "none", "swap", "/proc", "/sys", "/dev/pts", "/run")


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A network folder: its path, file system, source, and mount options, which are None if fstab has other ones."""

    path: str
    kind: str
    source: str
    options: tuple[str, ...] | None = ()

    @property
    def nfs_source(self) -> tuple[str, str] | None:
        """Return server and exported path of an NFS folder that a cluster file can have, else None."""
        match = _NFS_SOURCE.fullmatch(self.source) if self.kind in _NFS_KINDS else None
        export = match[2].rstrip("/") if match else ""
        if not match or not export or any(is_within(export, folder) for folder in SYSTEM_FOLDERS):
            return None
        return match[1], export


def shared_folders(hosts: Mapping[str, RecordedHost]) -> tuple[SharedFolder, ...]:
    """Return the network folders that every examined host mounts or exports, without those inside others.

    Homes last, because runs are stored in the first.
    """
    tables = {name: mounted_folders(host) for name, host in hosts.items() if host.mounts}
    folders = {folder.path: folder for table in tables.values() for folder in table.values()}
    common = [
        folder
        for path, folder in folders.items()
        if all(path in table or _exports(hosts[name], folder) for name, table in tables.items())
        and path not in _EXCLUDED_FOLDERS
        and not any(is_within(path, system) for system in SYSTEM_FOLDERS)
    ]
    paths = [folder.path for folder in common]
    tops = [folder for folder in common if not any(folder.path.startswith(f"{path}/") for path in paths)]
    tops = [
        _merged(folder, [table[folder.path] for table in tables.values() if folder.path in table])
        for folder in tops
    ]
    return tuple(sorted(tops, key=lambda folder: (folder.path.startswith("/home"), folder.path)))


def _merged(folder: SharedFolder, mounted: list[SharedFolder]) -> SharedFolder:
    """Return the folder as all hosts mount it; without source if sources differ, without options if these differ."""
    if len({(folder_of_host.kind, folder_of_host.source) for folder_of_host in mounted}) > 1:
        return replace(folder, kind="", source="", options=None)
    return (
        folder
        if len({folder_of_host.options for folder_of_host in mounted}) == 1
        else replace(folder, options=None)
    )


def mounted_folders(host: RecordedHost) -> dict[str, SharedFolder]:
    """Return the network folders of a host by path; none if the output of findmnt cannot be parsed."""
    try:
        table = mounts.parse(host.mounts)
    except (KeyError, ValueError, TypeError):
        return {}
    options = {row[1]: row[3] for _line, row in _fstab(host)}
    return {
        path: SharedFolder(path, row.kind, row.source, _nfs_options(options.get(path, "")))
        for path, row in table.items()
        if row.kind in _NETWORK_KINDS and _PATH.fullmatch(path)
    }


def _nfs_options(text: str) -> tuple[str, ...] | None:
    """Return the NFS options of an fstab line as a cluster file has them, without general ones such as `rw`.

    None if a cluster file cannot have one of them.
    """
    options = [option for option in text.split(",") if option and option not in _GENERAL_OPTIONS]
    options = [option for option in options if not option.startswith("x-")]
    is_known = all(name.partition("=")[0] in NFS_OPTIONS and _OPTION.fullmatch(name) for name in options)
    has_both = "noac" in options and any(option.startswith(("ac", "actimeo")) for option in options)
    return tuple(options) if is_known and not has_both else None


def _exports(host: RecordedHost, folder: SharedFolder) -> bool:
    return bool(folder.nfs_source) and has_export(host, folder.source.partition(":")[2])


def has_export(host: RecordedHost, path: str) -> bool:
    """Return whether the host exports the folder, in any spelling of its configuration."""
    return any(exported_path(text) == path.rstrip("/") for _file, _number, text in file_lines(host.exports))


def exported_path(line: str) -> str:
    """Return the folder that a line of exports(5) names, without quotes and without a slash at its end."""
    path = line.split('"')[1] if line.startswith('"') else line.split(maxsplit=1)[0]
    return path.rstrip("/")


def _fstab(host: RecordedHost) -> Iterator[tuple[Line, list[str]]]:
    """Yield each line of a host's fstab with its fields: device, folder, file system, options."""
    for number, line in enumerate(host.fstab.splitlines(), 1):
        row = line.partition("#")[0].split()
        if len(row) > 3:
            yield ("/etc/fstab", number, " ".join(row[:4])), row


def storage_sections(
    folders: tuple[SharedFolder, ...], hosts: frozenset[str], users: frozenset[str]
) -> dict[str, dict[str, Any]]:
    """Return the cluster file's section for each folder by name: NFS, or a folder that apply never mounts.

    Folders that are the home of a user are left out.
    """
    named: dict[str, dict[str, Any]] = {}
    for folder in folders:
        if folder.path.removeprefix("/home/") in users:
            continue
        stem = re.sub(r"[^A-Za-z0-9-]+", "-", folder.path).strip("-0123456789") or "folder"
        named[free_name(stem, named)] = storage_section(folder, hosts)
    return named


def storage_section(folder: SharedFolder, hosts: frozenset[str]) -> dict[str, Any]:
    """Return the cluster file's section of a folder; a server that is one of the hosts has the host's name.

    `kind: local` for a folder without an NFS server and path that a cluster file can have.
    """
    if (source := folder.nfs_source) is None:
        return {"kind": "local", "path": folder.path}
    server, export = source
    name = server.partition(".")[0]
    section: dict[str, Any] = {
        "kind": "nfs",
        "path": folder.path,
        "server": name if name in hosts else server,
    }
    section |= {"export": export} if export != folder.path else {}
    return section | ({"options": list(folder.options)} if folder.options else {})


def unheld_mounts(host: RecordedHost, folders: tuple[SharedFolder, ...]) -> Iterator[Line]:
    """Yield the lines of a host's fstab that no section holds, without those of the system itself."""
    held = {folder.path for folder in folders if folder.nfs_source and folder.options is not None}
    for line, row in _fstab(host):
        if row[1] not in held and row[1] not in _SYSTEM_MOUNTS and row[2] not in ("swap", "proc", "sysfs"):
            yield line


def is_exported(path: str, folders: tuple[SharedFolder, ...]) -> bool:
    """Return True if one of the NFS folders is an export of this path."""
    return any(folder.nfs_source and folder.nfs_source[1] == path for folder in folders)
