"""Disk quotas of users on the shared folders."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact

_KIB = 1024
_SIDE = 4  # used, soft, hard and grace: of blocks, then of files
# Mount options of ext4 and XFS with user quotas.
_COUNTS = "usrquota|usrjquota|uquota|uqnoenforce"


@dataclass(frozen=True, slots=True)
class Use:
    """Usage and limits of one user in one folder, in bytes or (`files`) in files; a limit of 0 means none.

    `grace_over` is true after the grace period of the soft limit.
    """

    user: str
    path: str
    files: bool
    used: int
    soft: int
    hard: int
    grace_over: bool


@dataclass(frozen=True, slots=True)
class Quotas:
    """Usage of users with a limit; and tools that are missing although quotas are on."""

    uses: tuple[Use, ...]
    missing: tuple[str, ...] = ()


def _command(spec: HostSpec) -> Sequence[str]:
    """Return the script: `lfs quota` per user on Lustre, `repquota` for local and exported file systems."""
    parts = []
    for folder in spec.cluster.storage.values():
        path = shlex.quote(folder.path)
        if folder.kind == "lustre":
            parts += [
                f"echo '@ lfs {name}' {path}; lfs quota -q -u {name} {path}" for name in spec.cluster.users
            ]
            parts.append("command -v lfs >/dev/null || echo '@ missing - lfs'")
        elif folder.kind == "local":
            parts.append(_report(path, path))
        elif folder.kind == "nfs" and folder.server == spec.host.name:
            parts.append(_report(path, shlex.quote(folder.export or folder.path)))
    return ("sh", "-c", "; ".join(f"{{ {part}; }} 2>/dev/null" for part in [*parts, "echo '@ END'"]))


def _report(path: str, served: str) -> str:
    """Return a line of sh that prints repquota's report of a folder's file system, if it is mounted with quotas.

    The report is labeled with `path`; `served` is the folder on the server.
    """
    counts = f"findmnt -nT {served} -o OPTIONS | grep -qE '{_COUNTS}'"
    command = f'echo "@ repquota -" {path}; repquota -u "$(findmnt -nT {served} -o TARGET)"'
    return f"if {counts}; then command -v repquota >/dev/null || echo '@ missing - repquota'; {command}; fi"


@fact(_command, limit_s=30, permission="root")
def quotas(out: str) -> Quotas:
    """Users with a quota, by `lfs quota` or `repquota`; quotas of an external NFS server are not read.

    Also the quota tools that are missing although quotas are on.
    """
    if not out.startswith("@ ") or not out.endswith("@ END\n"):
        raise ValueError(out[:80])
    blocks = [block.splitlines() for block in out.split("@ ")[1:-1]]
    missing = [lines[0].split()[2] for lines in blocks if lines[0].startswith("missing ")]
    uses = [use for lines in blocks for use in _block(lines)]
    return Quotas(tuple(use for use in uses if use.soft or use.hard), tuple(missing))


def _block(block: Sequence[str]) -> Iterator[Use]:
    tool, user, path = block[0].split(maxsplit=2)
    if tool == "lfs":
        fields = " ".join(block[1:]).split()[1:]
        if fields:
            yield from _uses(user, path, fields[:_SIDE], fields[_SIDE : 2 * _SIDE])
    if tool == "repquota":
        rows = [line.split() for line in block[1:]]
        begin = next(
            (number for number, row in enumerate(rows, 1) if row and row[0].startswith("---")), len(rows)
        )
        for name, flags, *fields in filter(None, rows[begin:]):
            middle = (
                _SIDE if flags.startswith("+") else _SIDE - 1
            )  # no grace column for users below the limit
            yield from _uses(name, path, fields[:middle], fields[middle:])


def _uses(user: str, path: str, blocks: Sequence[str], files: Sequence[str]) -> Iterator[Use]:
    for side, unit in ((blocks, _KIB), (files, 1)):
        used, soft, hard = (int(number.strip("[]*")) * unit for number in side[:3])
        yield Use(user, path, unit == 1, used, soft, hard, side[3:4] == ["none"])
