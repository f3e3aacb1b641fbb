"""The kinds of resource that a host's desired state consists of, each a plain value.

A mount is a unit file and its unit; a persistent sysctl is a File beside its Sysctl. So the agent on the host has few
kinds to implement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.config.field import Cost


def encode_content(content: str | bytes) -> bytes:
    """Return a file's content as the bytes that are written: text in UTF-8."""
    return content.encode() if isinstance(content, str) else content


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A whole file. `secret` names the secret that it contains: diffs and renders then omit the content.

    `gentle` is a pattern of lines: where only such lines differ, units that read the file are reloaded, not
    restarted, and the cost is `reconfigure`.
    """

    path: str
    content: str | bytes
    owner: str = "root"
    group: str = "root"
    mode: int = 0o644
    cost: Cost = Cost.LIVE
    secret: str = ""
    gentle: str = ""
    early: bool = False  # written before packages are installed: it configures a repository
    validate: tuple[str, ...] = ()  # a command that must accept the new file, `{}`, before it is installed

    @property
    def id(self) -> str:
        """Return `file:PATH`, the ID in plans, reports and a unit's `restart_on`."""
        return f"file:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A file that a module of `onhost/provision/derive` computes on the host, from `params` and the host's hardware.

    It is diffed and rolled back as a File. The module may decide that the host has no such file.
    """

    path: str
    program: str
    params: Mapping[str, Any]  # as JSON carries it
    header: str
    owner: str = "root"
    group: str = "root"
    mode: int = 0o644
    cost: Cost = Cost.LIVE

    @property
    def id(self) -> str:
        """Return `file:PATH`, the ID of a File with this path too, in plans, reports and a unit's `restart_on`."""
        return f"file:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A folder with its owner and mode; `parents` creates missing parent folders."""

    path: str
    owner: str = "root"
    group: str = "root"
    mode: int = 0o755
    parents: bool = True

    @property
    def id(self) -> str:
        """Return `directory:PATH`, the ID in plans, reports and a unit's `restart_on`."""
        return f"directory:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symlink:
    """A symbolic link at `path` to `target`."""

    path: str
    target: str

    @property
    def id(self) -> str:
        """Return `symlink:PATH`, the ID in plans, reports and a unit's `restart_on`."""
        return f"symlink:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An installed package, in any version or in one that begins with `version`.

    An `early` one configures a repository and is installed before the others. `built_for` must be part of the version
    too. `cost` applies to a change of version and to replacing installed packages that match `place_of`. Packages with
    the same `set_name` are a set, installed atomically: if one is unavailable, the set is skipped and reported, and
    all other changes are made.
    """

    name: str
    version: str = ""
    early: bool = False
    built_for: str = ""
    cost: Cost = Cost.RESTART
    set_name: str = ""
    place_of: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return `package:NAME`, the ID in plans, reports and a unit's `restart_on`."""
        return f"package:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A systemd unit, enabled and running; a change of a resource in `restart_on` restarts or reloads it.

    `replaces` names units with the same function, which are stopped and disabled once this one runs. An `independent`
    unit that does not start is reported after all other changes, here and on other hosts. Without one of the
    packages in `needs` the unit waits for the next apply.
    """

    name: str
    restart_on: tuple[str, ...] = ()
    reload: bool = False
    replaces: tuple[str, ...] = ()
    independent: bool = False
    needs: tuple[str, ...] = ()  # ids of packages

    @property
    def id(self) -> str:
        """Return `unit:NAME`, the ID in plans and reports."""
        return f"unit:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A Unix group with the same GID on every host; an existing `system` group retains its GID."""

    name: str
    gid: int
    system: bool = False

    @property
    def id(self) -> str:
        """Return `group:NAME`, the ID in plans and reports."""
        return f"group:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account with the same UID on every host; a `system` account is a daemon's, without login.

    `groups` are supplementary groups, `not_in` groups that the account is removed from; it stays in any other.
    `password` permits password login. `home` creates the home folder; without it another host serves the folder.
    """

    name: str
    uid: int
    group: str
    groups: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    password: bool = False
    system: bool = False
    home: bool = True

    @property
    def id(self) -> str:
        """Return `user:NAME`, the ID in plans and reports."""
        return f"user:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sysctl:
    """A kernel setting of the running system; a File makes it persistent."""

    key: str
    value: str

    @property
    def id(self) -> str:
        """Return `sysctl:KEY`, the ID in plans and reports."""
        return f"sysctl:{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A loaded kernel module; a File makes it persistent."""

    name: str

    @property
    def id(self) -> str:
        """Return `module:NAME`, the ID in plans and reports."""
        return f"module:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Installed packages that match one of the shell patterns are pinned; only the cluster file upgrades them."""

    name: str
    patterns: tuple[str, ...]

    @property
    def id(self) -> str:
        """Return `hold:NAME`, the ID in plans and reports."""
        return f"hold:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The hardware that slurm.conf declares for the host; compared only, and a difference is a note."""

    group: str
    devices: tuple[str, ...]
    memory_mib: int  # 0: not compared

    @property
    def id(self) -> str:
        """Return `hardware:host`, the ID in plans and reports; a host has one."""
        return "hardware:host"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPoint:
    """Where a unit mounts `source`: an error if that would hide files or another mount; never changed.

    `kernels` maps mount options to the Linux release that they require; an older kernel is a note.
    """

    path: str
    source: str
    type: str
    unit: str  # path of its unit file
    kernels: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Return `mountpoint:PATH`, the ID in plans and reports."""
        return f"mountpoint:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """One file system, found by its label; if missing, created on empty local disks of one type and size."""

    label: str
    group: str
    type: str
    count: int
    size: int  # bytes of one
    raid: str
    filesystem: str
    quota: bool

    @property
    def id(self) -> str:
        """Return `disks:LABEL`, the ID in plans and reports."""
        return f"disks:{self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial: before any of `files` changes, `argv` must succeed on the new files in a scratch folder.

    `{}` in a word of `argv` is that folder, which has each file under its base name. If no file changes, the trial is
    skipped.
    """

    name: str
    files: tuple[str, ...]  # ids
    argv: tuple[str, ...]

    @property
    def id(self) -> str:
        """Return `trial:NAME`, the ID in plans and reports."""
        return f"trial:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records that a daemon stores and its own command changes: Slurm's accounts and reservations.

    Compared and changed after units are started, but before the units in `required_by`, which need them.
    `onhost/provision/records.py` chooses the program by `name`; its input is `rows`.
    """

    name: str
    rows: tuple[Mapping[str, str], ...]
    required_by: tuple[str, ...] = ()  # units

    @property
    def id(self) -> str:
        """Return `records:NAME`, the ID in plans and reports."""
        return f"records:{self.name}"


Resource = (
    File
    | Derived
    | Directory
    | Symlink
    | Package
    | Unit
    | Group
    | User
    | Sysctl
    | Module
    | Hold
    | Hardware
    | MountPoint
    | Disks
    | Trial
    | Records
)


# Without the cluster file's name: a file that is renamed changes no host.
BANNER = "made by clusterwright; edit the cluster file instead"


@dataclass(frozen=True, slots=True)
class RoleContext:
    """What a role needs beyond the cluster: secrets, and our job-side code.

    `secrets` maps names such as `munge.key` to bytes, `payload` paths below /opt/clusterwright/lib to text.
    """

    secrets: Mapping[str, bytes] = field(default_factory=dict)
    payload: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def header(comment: str = "#") -> str:
        """Return the first line of every rendered file, after the comment sign of its format."""
        return f"{comment} {BANNER}\n"


def mount_unit_name(path: str) -> str:
    r"""Return what `systemd-escape --path --suffix=mount` prints: `/data/a-b` is `data-a\x2db.mount`."""
    allowed_chars = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")
    letters = "".join(
        c if c in allowed_chars else "-" if c == "/" else f"\\x{ord(c):02x}" for c in path.strip("/")
    )
    return (f"\\x2e{letters[1:]}" if letters.startswith(".") else letters or "-") + ".mount"
