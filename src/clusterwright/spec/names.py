r"""Names that end up in shells, paths and Slurm's files; what a shell could misread is refused here.

Whatever comes from a file is data: a host called `$(reboot)` never leaves this module. Patterns are anchored
with \A and \Z because `$` would let a trailing newline through.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from ClusterShell.NodeSet import NodeSet, NodeSetException
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

_HOST = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123 label, lower case, starting with a letter
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")  # useradd(8)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # POSIX environment variable name
_PATH = re.compile(r"/[A-Za-z0-9._/+@=,-]*")
_ZONE = re.compile(r"[A-Za-z]+(/[A-Za-z0-9_+-]+){0,2}")
_OPTION = re.compile(r"[a-z_]+(=[A-Za-z0-9_.:-]+)?")
_VERSION = re.compile(r"\d+(\.\d+){0,3}([.-][A-Za-z0-9]+)*")

MAX_HOSTS = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024


def _matching(pattern: re.Pattern[str], what: str, rule: str) -> tuple[AfterValidator, WithJsonSchema]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"`{value}` is not {what}: {rule}")
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern.pattern}$"})


def _account(value: str) -> str:
    if value == "root":
        raise ValueError("`root` exists on every host and is not ours to declare; choose another name")
    return value


def _path(value: str) -> str:
    if ".." in PurePosixPath(value).parts:
        raise ValueError(f"`{value}` climbs with ..; write the path as it is")
    return str(PurePosixPath(value))


def _hostlist(value: str) -> str:
    try:
        nodes = NodeSet(value, resolver=None) if len(value) < 4096 else None  # noqa: PLR2004 (a line, not a file)
    except NodeSetException as why:
        raise ValueError(f"`{value}` is not a hostlist: {why}; write it as gpu-node[1-8,12]") from why
    if not nodes or len(nodes) > MAX_HOSTS:
        raise ValueError(f"`{value}` is not a hostlist of 1 to {MAX_HOSTS} hosts; write it as gpu-node[1-8,12]")
    for name in nodes:
        if not _HOST.fullmatch(name):
            raise ValueError(f"`{name}` is not a host name: lower-case letters, digits and -, first a letter")
    return value


def _version(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"version {value} must be quoted, or 25.10 is read as 25.1")  # noqa: TRY004 (pydantic)
    if not _VERSION.fullmatch(value):
        raise ValueError(f'`{value}` is not a version; write it as "25.11" or "12.4.1"')
    return value


def expand(hostlist: str) -> tuple[str, ...]:
    """The hosts of a hostlist, in its own order."""
    return tuple(NodeSet(hostlist, resolver=None))


def fold(hosts: tuple[str, ...] | list[str]) -> str:
    """Hosts as a hostlist: `gpu-node[1-8,12]`; empty text for none."""
    return str(NodeSet.fromlist(hosts, resolver=None))


HostName = Annotated[str, *_matching(_HOST, "a host name", "lower-case letters, digits and -, first a letter")]
ClusterName = Annotated[str, *_matching(_HOST, "a cluster name", "lower-case letters, digits and -, first a letter")]
AccountName = Annotated[
    str,
    *_matching(_ACCOUNT, "a user or group name", "lower-case letters, digits, _ and -, at most 32"),
    AfterValidator(_account),
]
Word = Annotated[str, *_matching(_WORD, "a plain name", "letters, digits, _, . and -, first a letter, at most 64")]
Zone = Annotated[str, *_matching(_ZONE, "a time zone", "write it as UTC or Asia/Shanghai")]
MountOption = Annotated[str, *_matching(_OPTION, "a mount option", "write it as noatime or nconnect=8")]
VariableName = Annotated[str, *_matching(_VARIABLE, "an environment name", "letters, digits and _, first no digit")]
HostPath = Annotated[
    str,
    *_matching(_PATH, "an absolute path", "it starts with / and holds letters, digits and . _ / + @ = , -"),
    AfterValidator(_path),
]
Hostlist = Annotated[str, AfterValidator(_hostlist), WithJsonSchema({"type": "string", "examples": ["gpu-node[1-8,12]"]})]
Version = Annotated[str, BeforeValidator(_version), WithJsonSchema({"type": "string", "pattern": f"^{_VERSION.pattern}$"})]
