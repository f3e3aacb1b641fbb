"""What a host can be asked to have: a few kinds of resource, each a plain value.

A mount is a systemd unit file and its unit, a sysctl file is a file beside the values; so the agent on the
host knows thirteen kinds and no more, beside files that it works out itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.config.field import Cost


def encode_content(content: str | bytes) -> bytes:
    """A file's content as the bytes on disk."""
    return content.encode() if isinstance(content, str) else content


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A whole file. `secret` names the secret that it holds: then neither a diff nor a render shows it.

    `gentle` is a pattern of lines: where only such lines differ, what reads the file is reloaded and not
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
    early: bool = False  # before the packages: it says where they come from
    validate: tuple[str, ...] = ()  # a command that must accept the new file, `{}`, before it takes its place

    @property
    def id(self) -> str:
        """What a unit's `restart_on` names."""
        return f"file:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A file whose text is worked out on the host, by a module of `agent/derive`, from `given` and what is there.

    On the host it becomes a file like any other: shown as a diff, kept for undo. It may turn out that a host shall
    not have it.
    """

    path: str
    program: str
    given: Mapping[str, Any]  # as JSON carries it
    header: str
    owner: str = "root"
    group: str = "root"
    mode: int = 0o644
    cost: Cost = Cost.LIVE

    @property
    def id(self) -> str:
        """What a unit's `restart_on` names: a file's."""
        return f"file:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A folder with its owner and mode; `parents` makes the folders above it, where they are missing."""

    path: str
    owner: str = "root"
    group: str = "root"
    mode: int = 0o755
    parents: bool = True

    @property
    def id(self) -> str:
        """What a unit's `restart_on` names."""
        return f"directory:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symlink:
    """A symbolic link."""

    path: str
    target: str

    @property
    def id(self) -> str:
        """What a unit's `restart_on` names."""
        return f"symlink:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that is installed; in whatever version, or in one that begins with `version`.

    An `early` one brings a repository, and is installed before the others. `built_for` is what the version has to
    hold as well, `cost` what another version costs, or taking the `place_of` what fits these patterns. Packages
    that stand `alone`, by the name of their set, come all or none: where one cannot be had, everything else is
    done, here and on other hosts, and that is told.
    """

    name: str
    version: str = ""
    early: bool = False
    built_for: str = ""
    cost: Cost = Cost.RESTART
    alone: str = ""
    place_of: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What a unit's `restart_on` names."""
        return f"package:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A systemd unit, enabled and running; a change of what `restart_on` names restarts or reloads it.

    `replaces` names units that do the same work otherwise: stopped and disabled, but only once this one runs.
    Where one that stands `alone` does not come up, that is told when all else is done, here and on other hosts.
    Without one of the packages that it `needs` it waits for the next apply.
    """

    name: str
    restart_on: tuple[str, ...] = ()
    reload: bool = False
    replaces: tuple[str, ...] = ()
    alone: bool = False
    needs: tuple[str, ...] = ()  # ids of packages

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"unit:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A Unix group with the same id on every host; of a `system` one, an id that is there already is kept."""

    name: str
    gid: int
    system: bool = False

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"group:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account with the same id on every host, its home made once; a `system` one is a daemon's, without login.

    `groups` are further groups, `not_in` those that the account has to leave; in any other it may stay. Without
    `password` nobody logs in by one. Without `home` none is made: it comes from another host.
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
        """What a journal or a report calls it."""
        return f"user:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sysctl:
    """A kernel setting as it is now; a File keeps it across a reboot."""

    key: str
    value: str

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"sysctl:{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A kernel module that is loaded; a File keeps it across a reboot."""

    name: str

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"module:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Installed packages that fit one of the patterns (as a shell's) are not upgraded unless the file says so."""

    name: str
    patterns: tuple[str, ...]

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"hold:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What Slurm is told that the host has; looked at and never changed, a difference is a note."""

    group: str
    devices: tuple[str, ...]
    memory_mib: int  # 0: not looked at

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return "hardware:host"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountPoint:
    """Where a unit is to mount `what`: refused where that would hide files or another mount; never changed.

    `kernels` names options that need a release of Linux, which is a note where the host's is older.
    """

    path: str
    what: str
    type: str
    unit: str  # path of its unit file
    kernels: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"mountpoint:{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """One file system, found by its label, made of empty local disks of one kind and size where it is missing."""

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
        """What a journal or a report calls it."""
        return f"disks:{self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A rehearsal: before the first of `files` changes, `argv` must end well on all of them in a scratch folder.

    `{}` in a word of `argv` is that folder, which holds each file by its last name. Nothing is done where none
    of the files changes.
    """

    name: str
    files: tuple[str, ...]  # ids
    argv: tuple[str, ...]

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
        return f"trial:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Rows that a daemon keeps and a program of its own changes: Slurm's accounts, its reservations.

    Looked at and changed after the units, when the daemon runs; but before those of `before`, which end where
    they miss a row. The agent's module `records` knows each name's program; `rows` is what that takes.
    """

    name: str
    rows: tuple[Mapping[str, str], ...]
    before: tuple[str, ...] = ()  # units

    @property
    def id(self) -> str:
        """What a journal or a report calls it."""
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


@dataclass(frozen=True, slots=True)
class RoleContext:
    """What a role needs beyond the cluster file: its name for headers, secrets, and our own job-side code.

    `secrets` maps `munge.key` and the like to bytes; `payload` a path below /opt/clusterwright/lib to text.
    """

    source: str
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    payload: Mapping[str, str] = field(default_factory=dict)

    def header(self, comment: str = "#") -> str:
        """The first line of every file of ours."""
        return f"{comment} made by clusterwright from {self.source}, do not edit\n"


def mount_unit_name(path: str) -> str:
    r"""What `systemd-escape --path --suffix=mount` prints: `/data/a-b` is `data-a\x2db.mount`."""
    allowed_chars = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")
    letters = "".join(
        c if c in allowed_chars else "-" if c == "/" else f"\\x{ord(c):02x}" for c in path.strip("/")
    )
    return (f"\\x2e{letters[1:]}" if letters.startswith(".") else letters or "-") + ".mount"
