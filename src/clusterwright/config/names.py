r"""Types of names that reach shells, paths and Slurm's files; characters special to a shell are rejected here.

A host called `$(reboot)` fails validation. Patterns match the whole string, because `$` would allow a trailing
newline.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from ClusterShell.RangeSet import RangeSet
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from clusterwright.config import hostlists
from clusterwright.config.field import refuse
from clusterwright.config.hostlists import MAX_HOSTS, MAX_NAME, HostlistError, count_hosts, host_names
from clusterwright.i18n import N_, _

_HOST = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"  # RFC 1123 label, lower case, starting with a letter
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_SERVER = rf"{_LABEL}(\.{_LABEL}){{0,9}}"  # a server of the site: host name, FQDN or address
_RDMA = (
    r"[a-zA-Z][a-zA-Z0-9_-]{0,62}(:[1-9][0-9]?)?"  # as drivers name them: mlx5_0, mlx5_bond_0:1, rocep1s0f0
)
_ACCOUNT = r"[a-z_][a-z0-9_-]{0,31}"  # useradd(8)
_IDENTIFIER = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,254}"  # POSIX environment variable name
_MODULE = r"[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,15}"  # of Python
_PATH = r"/[A-Za-z0-9._/+@=,-]{0,1023}"
_OPTION = r"[a-z_]+(=[A-Za-z0-9_.:-]+)?"
_VERSION = r"[0-9]+(\.[0-9]+){0,3}([.-][A-Za-z0-9]+)*"
_SHA256 = r"[0-9a-f]{64}"
_SLURM_KEY = r"[A-Z][A-Za-z0-9]{2,63}"
_PACKAGE = r"[a-z0-9][a-z0-9+._-]{1,127}"  # Debian policy 5.6.1; RPM's are alike
_START = r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?"  # scontrol(1) StartTime
# Addresses of services; none has a user, a password or a query, which would be secrets in a file.
_HTTP = rf"https?://{_LABEL}(\.{_LABEL}){{0,9}}(:[1-9][0-9]{{0,4}})?(/[A-Za-z0-9._~/-]{{0,255}})?"
_OBJECTS = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.()/-]{0,512})?"  # S3's bucket naming rules
_IMAGE = r"[A-Za-z0-9/][A-Za-z0-9._/:@#+=-]{0,1023}"  # enroot import(1): docker://USER@HOST#IMAGE:TAG

_OUR_HOSTLIST = r"[a-z0-9,[\]-]*"
_SLURM_HOSTLIST = r"[A-Za-z0-9_.,[\]-]*"  # other hosts of Slurm may have such names
_NUMBER = r"\[[^]]*\]|[0-9]+"
_FOLDABLE = rf"[A-Za-z0-9_.-]{{1,{MAX_NAME}}}"  # host names as Slurm and DNS have them
_LAST_NUMBER = r"(.*?)([0-9]+)([^0-9]*)"

MAX_HOSTLIST = 4096  # characters: a line, not a file
_FEW_HOSTS = 64  # ours: of more, with several numbers in each name, ClusterShell takes too long

# Accounts that Debian, Rocky and their packages create; declaring them again would change the system.
_SYSTEM_ACCOUNTS = frozenset({
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data",
    "backup", "list", "irc", "nobody", "nogroup", "operator", "adm", "wheel", "sudo", "users", "staff",
    "shadow", "tty", "disk", "kmem", "dialout", "video", "audio", "input", "render", "kvm", "sshd",
    "messagebus", "polkitd", "munge", "slurm", "chrony", "_chrony", "ntp", "prometheus", "dbus",
})  # fmt: skip
# torchrun sets these for every rank (torch.distributed.run) and would overwrite a value from the file.
_TORCHRUN_SETS = frozenset({
    "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT",
})  # fmt: skip
_LAUNCHER_PREFIXES = ("CLUSTERWRIGHT_", "SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "TORCHELASTIC_")


def matching(pattern: str, form: str, fix: str) -> tuple[AfterValidator, WithJsonSchema]:
    """Return a validator and its schema; `form` describes valid values, `fix` is the imperative (both N_ texts)."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):  # re compiles it on first use and caches it
            raise refuse("bad-name", _("`{value}` is not {form}", value=value, form=_(form)), _(fix))
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern}$", "form": form})


def _no_system_account(value: str) -> str:
    if value in _SYSTEM_ACCOUNTS or value.startswith("systemd-"):
        raise refuse(
            "reserved-name",
            _("`{value}` is a system account of every host and cannot be declared", value=value),
            _("choose another name"),
        )
    return value


def _reject_slurm_keyword(value: str) -> str:
    # slurm.conf(5): NodeName=DEFAULT and PartitionName=DEFAULT set defaults.
    if value.upper() in {"DEFAULT", "ALL"}:
        message = _("`{value}` is a reserved word of slurm.conf", value=value)
        raise refuse("reserved-name", message, _("choose another name"))
    return value


def _no_launcher_variable(value: str) -> str:
    if value in _TORCHRUN_SETS or value.startswith(_LAUNCHER_PREFIXES):
        raise refuse(
            "reserved-name",
            _("environment variable `{value}` is set by Slurm, torchrun or the launcher", value=value),
            _("remove the line, or use another name"),
        )
    return value


def _path(value: str) -> str:
    if ".." in PurePosixPath(value).parts:
        raise refuse("bad-name", _("`{value}` contains ..", value=value), _("write the path without .."))
    return str(PurePosixPath(re.sub("/+", "/", value)))


def _count(hostlist: str) -> int | None:
    """Count the hosts of a hostlist of names that we accept; None if it is malformed."""
    return count_hosts(hostlist) if re.fullmatch(_OUR_HOSTLIST, hostlist) else None


def limit_hosts(groups: Any) -> Any:
    """Return the node groups unchanged; refuse them if they have more hosts together than Slurm supports.

    Hostlists are not expanded for that.
    """
    name = _first_above_limit(groups, "hosts") or _first_above_limit(groups, "absent")
    if name is None:
        return groups
    raise refuse(
        "bad-hostlist",
        _("with node group `{name}` the cluster has more than {limit} hosts", name=name, limit=MAX_HOSTS),
        _("write a cluster file for each cluster; Slurm supports at most {limit} nodes", limit=MAX_HOSTS),
    )


def limit_reserved(reservations: Any) -> Any:
    """Return the reservations unchanged; refuse them if they have more hosts together than a cluster can have.

    Hostlists are not expanded for that.
    """
    name = _first_above_limit(reservations, "hosts")
    if name is None:
        return reservations
    raise refuse(
        "bad-hostlist",
        _("with `{name}` the reservations list more than {limit} hosts together", name=name, limit=MAX_HOSTS),
        _("reserve fewer hosts, or remove reservations"),
    )


def _first_above_limit(sections: Any, field: str) -> str | None:
    """Return the name of the section with which the hostlists in the field exceed MAX_HOSTS; None if none does.

    Invalid hostlists, and those that alone exceed it, do not count.
    """
    total = 0
    for name, section in sections.items() if isinstance(sections, dict) else ():
        hosts = section.get(field) if isinstance(section, dict) else None
        count = _count(hosts) if isinstance(hosts, str) and len(hosts) <= MAX_HOSTLIST else None
        total += count if count and count <= MAX_HOSTS else 0  # a longer list is an error of its own
        if total > MAX_HOSTS:
            return str(name)
    return None


def _hostlist(value: str) -> str:
    fix = _("write the hostlist as gpu-node[1-8,12]")
    if len(value) <= MAX_HOSTLIST and (ascending := hostlists.ascending_ranges(value)) != value:
        message = _("`{value}` has a descending range", value=value[:60])
        raise refuse("bad-hostlist", message, _("write {hostlist}", hostlist=ascending))
    count = _count(value) if len(value) <= MAX_HOSTLIST else None
    if count is None or not 1 <= count <= MAX_HOSTS:
        message = _("`{value}` is not a hostlist of 1 to {limit} hosts", value=value[:60], limit=MAX_HOSTS)
        raise refuse("bad-hostlist", message, fix)
    names = expand(value)
    for name in names:
        if not re.fullmatch(_HOST, name):
            raise refuse("bad-name", _("`{name}` is not a host name", name=name), _(_HOST_FIX))
        _reject_slurm_keyword(name)
    if len(names) != count:
        message = _("`{value}` lists a host twice", value=value)
        raise refuse("bad-hostlist", message, _("write {hostlist}", hostlist=fold(names)))
    return value


def _version(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value  # no version at all: pydantic reports its type
    if not isinstance(value, str):
        message = _("version {value} is read as a number, which would make 25.10 25.1", value=value)
        raise refuse("version-not-quoted", message, _('write the value in quotes: "{value}"', value=value))
    if not re.fullmatch(_VERSION, value):
        raise refuse(
            "bad-name", _("`{value}` is not a version", value=value), _('write e.g. "25.11" or "12.4.1"')
        )
    return value


def _reject_line_breaks(value: str) -> str:
    if "\0" in value or "\n" in value or "\r" in value:
        message = _("the value has a line break or a NUL, which `sbatch --export` cannot pass to the job")
        fix = _("write the value on one line, or into a file whose path the variable has")
        raise refuse("bad-text", message, fix)
    return value


def _conf_line(value: str) -> str:
    """Return the value of a line of slurm.conf; reject blank ones, comments, line breaks and backslashes.

    These would continue the line.
    """
    if not value.strip() or any(char in value for char in "#\\") or not value.isprintable():
        message = _("`{value}` is not a value of a slurm.conf line", value=value[:60])
        fix = _("write what follows the = in slurm.conf, on one line, without # and \\")
        raise refuse("bad-text", message, fix)
    return value


def _no_nul(value: str) -> str:
    if "\0" in value or not value:
        message = _("an item is empty or has a NUL, which a command line cannot contain")
        raise refuse("bad-text", message, _("remove the item"))
    return value


def expand(hostlist: str) -> tuple[str, ...]:
    """Expand a hostlist into host names, sorted by name and number.

    Raises:
        HostlistError: the text is no hostlist, or has more than MAX_HOSTS hosts.
    """
    return host_names(hostlist)


def _has_numbers(name: str) -> bool:
    """Return whether a host name, or a part of a hostlist, has several numbers or ranges."""
    return len(re.findall(_NUMBER, name)) > 1


def expand_valid(hostlist: str) -> tuple[str, ...]:
    """Expand a hostlist from Slurm's text, where users can add fields; empty if it is invalid, empty or too large."""
    if not re.fullmatch(_SLURM_HOSTLIST, hostlist):
        return ()
    try:
        return expand(hostlist)
    except HostlistError:
        return ()


def fold(hosts: tuple[str, ...] | list[str]) -> str:
    """Fold host names into a hostlist: `gpu-node[1-8,12]`; texts that are not host names are appended unchanged."""
    names = {host for host in hosts if re.fullmatch(_FOLDABLE, host)}
    has_many = len(names) > _FEW_HOSTS and any(map(_has_numbers, names))
    folded = (
        _fold_numbers(sorted(names))
        if has_many
        else [str(NodeSet.fromlist(sorted(names), resolver=RESOLVER_NOGROUP))]
    )
    return ",".join(filter(None, (*folded, *sorted(set(hosts) - names))))


def _fold_numbers(names: list[str]) -> list[str]:
    """Fold names by the last number in them, then by those before it; names without a number come first, unfolded.

    ClusterShell would compare every pair of ranges.
    """
    unnumbered: list[str] = []
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if match := re.fullmatch(_LAST_NUMBER, name):
            numbers.setdefault((match[1], match[3]), []).append(match[2])
        else:
            unnumbered.append(name)
    heads: dict[str, list[str]] = {}
    for (head, tail), values in numbers.items():
        folded = values[0] if len(values) == 1 else f"[{RangeSet.fromlist(values)}]"
        heads.setdefault(folded + tail, []).append(head)
    return unnumbered + [head + tail for tail, group in heads.items() for head in _fold_numbers(group)]


_HOST_FIX = N_("use at most 63 lower-case letters, digits and -, the first a letter")
_ACCOUNT_FIX = N_("use at most 32 lower-case letters, digits, _ and -, the first no digit")
_IDENTIFIER_FIX = N_("use at most 64 letters, digits, _, . and -, the first a letter")

HostName = Annotated[str, *matching(_HOST, N_("a host name"), _HOST_FIX)]
# A device of /sys/class/infiniband, with or without its port: `mlx5_0`, `mlx5_bond_0:1`, `rocep1s0f0`.
RdmaDevice = Annotated[
    str,
    *matching(
        _RDMA,
        N_("an RDMA device"),
        N_("use a device of /sys/class/infiniband, such as mlx5_0, or mlx5_0:1 for its port 1"),
    ),
]
ServerName = Annotated[
    str,
    *matching(
        _SERVER,
        N_("the name or address of a server"),
        N_("use a name such as nfs.example.org, or an address"),
    ),
]
ClusterName = Annotated[str, *matching(_HOST, N_("a cluster name"), _HOST_FIX)]
AccountName = Annotated[
    str, *matching(_ACCOUNT, N_("a user or group name"), _ACCOUNT_FIX), AfterValidator(_no_system_account)
]
LoginName = Annotated[str, *matching(_ACCOUNT, N_("a user name"), _ACCOUNT_FIX)]
Identifier = Annotated[str, *matching(_IDENTIFIER, N_("a plain name"), _IDENTIFIER_FIX)]
SlurmName = Annotated[
    str, *matching(_IDENTIFIER, N_("a plain name"), _IDENTIFIER_FIX), AfterValidator(_reject_slurm_keyword)
]
MountOption = Annotated[
    str, *matching(_OPTION, N_("a mount option"), N_("use an option such as noatime or nconnect=8"))
]
VariableName = Annotated[
    str,
    *matching(
        _VARIABLE, N_("an environment variable name"), N_("use letters, digits and _, the first no digit")
    ),
    AfterValidator(_no_launcher_variable),
]
ModuleName = Annotated[
    str, *matching(_MODULE, N_("a Python module"), N_("use a name such as transformers or my.data"))
]
SlurmKey = Annotated[
    str,
    *matching(_SLURM_KEY, N_("a key of slurm.conf"), N_("use a key of slurm.conf(5), such as KillWait")),
]
PackageName = Annotated[
    str, *matching(_PACKAGE, N_("a package name"), N_("use lower-case letters, digits and + . _ -"))
]
StartTime = Annotated[str, *matching(_START, N_("a time"), N_('write a quoted time: "2027-01-15T08:00"'))]
ConfLine = Annotated[str, AfterValidator(_conf_line)]
Line = Annotated[str, AfterValidator(_reject_line_breaks)]
CommandItem = Annotated[str, AfterValidator(_no_nul)]
Image = Annotated[
    str,
    *matching(
        _IMAGE,
        N_("an image"),
        N_("use an enroot URI such as docker://nvcr.io#nvidia/pytorch:25.09-py3, or a .sqsh path"),
    ),
]
HostPath = Annotated[
    str,
    *matching(
        _PATH,
        N_("an absolute path"),
        N_("begin the path with /, and use letters, digits and . _ / + @ = , - only"),
    ),
    AfterValidator(_path),
]
Hostlist = Annotated[
    str,
    AfterValidator(_hostlist),
    WithJsonSchema({"type": "string", "examples": ["gpu-node[1-8,12]"], "form": N_("a hostlist")}),
]
Sha256 = Annotated[
    str, *matching(_SHA256, N_("a SHA-256"), N_("write the 64 hexadecimal digits that `sha256sum` prints"))
]
Version = Annotated[
    str,
    BeforeValidator(_version),
    WithJsonSchema({"type": "string", "pattern": f"^{_VERSION}$", "form": N_("a version in quotes")}),
]
HttpAddress = Annotated[
    str,
    *matching(
        _HTTP,
        N_("the http or https address of a server, without user and password"),
        N_("write the server as https://rgw.example.org; add a port if not the default, such as :7480"),
    ),
]
ObjectAddress = Annotated[
    str,
    *matching(_OBJECTS, N_("a bucket and prefix in object storage"), N_("write s3://BUCKET/PREFIX")),
]


_CONFIDENTIAL = (
    r"(?i)(^|.*_)(token|api_?key|secret|secret_?key|access_?key|private_?key|credentials?|.*passw(or)?d|key)"
)


def is_secret(name: str) -> bool:
    """Return whether the name of an environment variable suggests a secret: WANDB_API_KEY, HF_TOKEN."""
    return re.fullmatch(_CONFIDENTIAL, name) is not None
