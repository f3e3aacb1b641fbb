r"""Names that end up in shells, paths and Slurm's files; what a shell could misread is refused here.

Whatever comes from a file is data: a host called `$(reboot)` never leaves this module. Patterns are matched
whole, because `$` would let a trailing newline through.
"""

from __future__ import annotations

import re
from math import prod
from pathlib import PurePosixPath
from typing import Annotated, Any

from ClusterShell.NodeSet import NodeSet, NodeSetException
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from clusterwright.config.field import refuse
from clusterwright.i18n import _

_HOST = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"  # RFC 1123 label, lower case, starting with a letter
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_SERVER = rf"{_LABEL}(\.{_LABEL}){{0,9}}"  # of the site: a plain name, a name with its domain, or an address
_RDMA = r"[a-zA-Z][a-zA-Z0-9_-]{0,62}(:[1-9][0-9]?)?"  # of a driver: mlx5_0, mlx5_bond_0:1, rocep1s0f0
_ACCOUNT = r"[a-z_][a-z0-9_-]{0,31}"  # useradd(8)
_IDENTIFIER = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,254}"  # POSIX environment variable name
_MODULE = r"[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,15}"  # of Python
_PATH = r"/[A-Za-z0-9._/+@=,-]{0,1023}"
_ZONE = r"[A-Za-z]+(/[A-Za-z0-9_+-]+){0,2}"
_OPTION = r"[a-z_]+(=[A-Za-z0-9_.:-]+)?"
_VERSION = r"[0-9]+(\.[0-9]+){0,3}([.-][A-Za-z0-9]+)*"
_SLURM_KEY = r"[A-Z][A-Za-z0-9]{2,63}"
_PACKAGE = r"[a-z0-9][a-z0-9+._-]{1,127}"  # Debian policy 5.6.1; RPM's are alike
_START = r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?"  # scontrol(1) StartTime
_ARRAY = r"[0-9]{1,7}(-[0-9]{1,7}(:[1-9][0-9]{0,6})?)?(,[0-9]{1,7}(-[0-9]{1,7}(:[1-9][0-9]{0,6})?)?)*(%[1-9][0-9]*)?"
_EARLIER = r"[1-9][0-9]{0,9}|[A-Za-z][A-Za-z0-9_.-]{0,95}"  # a job id, or the name of a run
_IMAGE = r"[A-Za-z0-9/][A-Za-z0-9._/:@#+=-]{0,1023}"  # enroot import(1): docker://USER@HOST#IMAGE:TAG

_HOSTLIST_PART = r"((?:[a-z0-9-]|\[[0-9,-]+\])+)(?:,|$)"
_BRACKET = r"\[([0-9,-]+)\]"
_RANGE = r"([0-9]{1,9})(?:-([0-9]{1,9}))?"

MAX_HOSTS = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024
MAX_HOSTLIST = 4096  # a line, not a file

# Accounts that Debian, Rocky and a node's packages bring; declaring them again would change the system.
_SYSTEM_ACCOUNTS = frozenset({
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data",
    "backup", "list", "irc", "nobody", "nogroup", "operator", "adm", "wheel", "sudo", "users", "staff",
    "shadow", "tty", "disk", "kmem", "dialout", "video", "audio", "input", "render", "kvm", "sshd",
    "messagebus", "polkitd", "munge", "slurm", "chrony", "_chrony", "ntp", "prometheus", "dbus",
})  # fmt: skip
# torchrun sets these for every rank (torch.distributed.run); a value from the file would be silently lost.
_TORCHRUN_SETS = frozenset({
    "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT",
})  # fmt: skip
_LAUNCHER_PREFIXES = ("CLUSTERWRIGHT_", "SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "TORCHELASTIC_")


def _matching(pattern: str, form: str, rule: str) -> tuple[AfterValidator, WithJsonSchema]:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):  # compiled when first used, and kept by re
            raise refuse(
                "bad-name", _("`{value}` is not {form}", value=value, form=form), _("use {rule}", rule=rule)
            )
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern}$", "form": form})


def _no_system_account(value: str) -> str:
    if value in _SYSTEM_ACCOUNTS or value.startswith("systemd-"):
        raise refuse(
            "reserved-name",
            _("`{value}` exists on every host and is not ours to declare", value=value),
            _("choose another name"),
        )
    return value


def _reject_slurm_keyword(value: str) -> str:
    if value.upper() in {
        "DEFAULT",
        "ALL",
    }:  # slurm.conf(5): NodeName=DEFAULT, PartitionName=DEFAULT set defaults
        raise refuse(
            "reserved-name",
            _("`{value}` is a word of slurm.conf's own", value=value),
            _("choose another name"),
        )
    return value


def _no_launcher_variable(value: str) -> str:
    if value in _TORCHRUN_SETS or value.startswith(_LAUNCHER_PREFIXES):
        raise refuse(
            "reserved-name",
            _("environment variable `{value}` is set by Slurm, torchrun or the launcher", value=value),
            _("leave the line out, or use a name of your own"),
        )
    return value


def _path(value: str) -> str:
    if ".." in PurePosixPath(value).parts:
        raise refuse("bad-name", _("`{value}` climbs with ..", value=value), _("write the path as it is"))
    return str(PurePosixPath(re.sub("/+", "/", value)))


def _count(hostlist: str) -> int | None:
    """How many hosts it would expand to, None where it is malformed; `n[1-999999999]` must never be."""
    total, position = 0, 0
    while position < len(hostlist):
        part = re.match(_HOSTLIST_PART, hostlist[position:])
        if part is None:
            return None
        sizes = [_size(ranges) for ranges in re.findall(_BRACKET, part[1])]
        total += prod(sizes)
        position += part.end()
    return None if hostlist.endswith(",") else total


def _size(ranges: str) -> int:
    """Numbers in `1-8,12`; none if it is malformed, which makes the whole list empty."""
    matches = [re.fullmatch(_RANGE, text) for text in ranges.split(",")]
    if not all(matches):
        return 0
    return sum(max(0, int(match[2] or match[1]) - int(match[1]) + 1) for match in matches if match)


def _hostlist(value: str) -> str:
    fix = _("write it as gpu-node[1-8,12]")
    count = _count(value) if len(value) <= MAX_HOSTLIST else None
    if count is None or not 1 <= count <= MAX_HOSTS:
        raise refuse(
            "bad-hostlist",
            _("`{value}` is not a hostlist of 1 to {max_hosts} hosts", value=value[:60], max_hosts=MAX_HOSTS),
            fix,
        )
    try:
        names = expand(value)
    except NodeSetException as error:
        raise refuse(
            "bad-hostlist", _("`{value}` is not a hostlist: {error}", value=value, error=error), fix
        ) from error
    for name in names:
        if not re.fullmatch(_HOST, name):
            rule = "lower-case letters, digits and -, first a letter, at most 63"
            raise refuse("bad-name", _("`{name}` is not a host name", name=name), _("use {rule}", rule=rule))
        _reject_slurm_keyword(name)
    if len(names) != count:
        raise refuse(
            "bad-hostlist",
            _("`{value}` names a host twice", value=value),
            _("write {fold}", fold=fold(names)),
        )
    return value


def _version(value: Any) -> str:
    if not isinstance(value, str):
        raise refuse(
            "version-not-quoted",
            _("version {value} is read as a number, and 25.10 would become 25.1", value=value),
            _('write it in quotes: "{value}"', value=value),
        )
    if not re.fullmatch(_VERSION, value):
        raise refuse(
            "bad-name", _("`{value}` is not a version", value=value), _('write it as "25.11" or "12.4.1"')
        )
    return value


def _reject_line_breaks(value: str) -> str:
    if "\0" in value or "\n" in value or "\r" in value:
        raise refuse(
            "bad-text",
            _(
                "the value holds a line break or a NUL, which `sbatch --export` and the environment "
                "cannot carry"
            ),
            _("keep it on one line, or put it in a file and give its path"),
        )
    return value


def _conf_line(value: str) -> str:
    """No comment, no second line, and no backslash, which would join the next one."""
    if not value.strip() or any(char in value for char in "#\\") or not value.isprintable():
        raise refuse(
            "bad-text",
            _("`{value}` is not the value of a line of slurm.conf", value=value[:60]),
            _("write what stands after the = there, on one line, without # and \\"),
        )
    return value


def _no_nul(value: str) -> str:
    if "\0" in value or not value:
        raise refuse(
            "bad-text",
            _("an item is empty or holds a NUL, which no command line can carry"),
            _("take it out"),
        )
    return value


def expand(hostlist: str) -> tuple[str, ...]:
    """The hosts of a hostlist, sorted by name and number."""
    return tuple(NodeSet(hostlist, resolver=None))


def fold(hosts: tuple[str, ...] | list[str]) -> str:
    """Hosts as a hostlist: `gpu-node[1-8,12]`; empty text for none."""
    return str(NodeSet.fromlist(hosts, resolver=None))


_HOST_RULE = "lower-case letters, digits and -, first a letter, at most 63"
_ACCOUNT_RULE = "lower-case letters, digits, _ and -, at most 32"
_IDENTIFIER_RULE = "letters, digits, _, . and -, first a letter, at most 64"

HostName = Annotated[str, *_matching(_HOST, "a host name", _HOST_RULE)]
# A device of /sys/class/infiniband, with or without its port: `mlx5_0`, `mlx5_bond_0:1`, `rocep1s0f0`.
RdmaDevice = Annotated[
    str,
    *_matching(
        _RDMA, "an RDMA device", "a name that is in /sys/class/infiniband, such as mlx5_0 or mlx5_0:1"
    ),
]
ServerName = Annotated[
    str,
    *_matching(_SERVER, "the name or address of a server", "a name such as filer.example.org, or an address"),
]
ClusterName = Annotated[str, *_matching(_HOST, "a cluster name", _HOST_RULE)]
AccountName = Annotated[
    str, *_matching(_ACCOUNT, "a user or group name", _ACCOUNT_RULE), AfterValidator(_no_system_account)
]
LoginName = Annotated[str, *_matching(_ACCOUNT, "a user name", _ACCOUNT_RULE)]
Identifier = Annotated[str, *_matching(_IDENTIFIER, "a plain name", _IDENTIFIER_RULE)]
SlurmName = Annotated[
    str, *_matching(_IDENTIFIER, "a plain name", _IDENTIFIER_RULE), AfterValidator(_reject_slurm_keyword)
]
Zone = Annotated[
    str, *_matching(_ZONE, "a time zone", "a name of the tz database such as UTC or Asia/Shanghai")
]
MountOption = Annotated[str, *_matching(_OPTION, "a mount option", "a word such as noatime or nconnect=8")]
VariableName = Annotated[
    str,
    *_matching(_VARIABLE, "an environment name", "letters, digits and _, first no digit"),
    AfterValidator(_no_launcher_variable),
]
ArrayRange = Annotated[
    str, *_matching(_ARRAY, "a range of an array", 'it as sbatch --array does: "0-9", "1,3,5" or "0-9%2"')
]
Earlier = Annotated[
    str,
    *_matching(_EARLIER, "a job id or a run", 'the id in quotes, "1234", or the name that a run was given'),
]
ModuleName = Annotated[str, *_matching(_MODULE, "a Python module", "a name such as transformers or my.data")]
SlurmKey = Annotated[
    str, *_matching(_SLURM_KEY, "a key of slurm.conf", "it as slurm.conf(5) spells it, such as KillWait")
]
PackageName = Annotated[str, *_matching(_PACKAGE, "a package name", "lower-case letters, digits and + . _ -")]
StartTime = Annotated[str, *_matching(_START, "a time", 'it as "2027-01-15T08:00", in quotes')]
ConfLine = Annotated[str, AfterValidator(_conf_line)]
Line = Annotated[str, AfterValidator(_reject_line_breaks)]
CommandItem = Annotated[str, AfterValidator(_no_nul)]
Image = Annotated[
    str,
    *_matching(
        _IMAGE, "an image", "an enroot URI such as docker://nvcr.io#nvidia/pytorch:25.09-py3, or a .sqsh path"
    ),
]
HostPath = Annotated[
    str,
    *_matching(_PATH, "an absolute path", "a path from / on, of letters, digits and . _ / + @ = , -"),
    AfterValidator(_path),
]
Hostlist = Annotated[
    str,
    AfterValidator(_hostlist),
    WithJsonSchema({"type": "string", "examples": ["gpu-node[1-8,12]"], "form": "a hostlist"}),
]
Version = Annotated[
    str,
    BeforeValidator(_version),
    WithJsonSchema({"type": "string", "pattern": f"^{_VERSION}$", "form": "a version in quotes"}),
]


_CONFIDENTIAL = (
    r"(?i)(^|.*_)(token|api_?key|secret|secret_?key|access_?key|private_?key|credentials?|.*passw(or)?d|key)"
)


def is_secret(name: str) -> bool:
    """True of a variable whose value is nobody else's business, as its name tells: WANDB_API_KEY, HF_TOKEN."""
    return re.fullmatch(_CONFIDENTIAL, name) is not None
