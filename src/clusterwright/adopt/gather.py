"""Read a running site over SSH: its Slurm files on the control host, and facts of hosts. Only reading commands run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from clusterwright.adopt.account_tables import ASSOCIATIONS, QOS, USERS
from clusterwright.adopt.baseline import UNIT_ROLES
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.reservations import TABLE
from clusterwright.adopt.watch import watches_accounts
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_rules import parse_conf
from clusterwright.config.slurm_rules.rules.network import controller_name
from clusterwright.edge import slurm
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Connection, fan_out
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.slurm import client

_READ_S = 120.0
_MOST_BYTES = 4 * 1024 * 1024  # of one file
_DEFAULT = "/etc/slurm/slurm.conf"
# Files that only root and slurm can read are read with sudo, where the user may use it without a password.
_HEAD = f'head -c {_MOST_BYTES} -- "$1" 2>/dev/null'
_CAT = f"cat_file() {{ {_HEAD} || sudo -n {_HEAD}; }}"
_FILES = "tail -v -n +1 --"
# Of a firewall root alone may read the rules; the last line states that they were read, because there may be none.
_RULES = (
    'rules=$($sudo nft -s list ruleset); code=$?; [ -n "$rules" ] || { rules=$($sudo iptables-save) && code=0; }; '
    'printf "%s\\n" "$rules"; [ "$code" != 0 ] || echo "# read"'
)
_RULE_FILES = (
    "/etc/nftables.conf /etc/nftables/*.nft /etc/nftables.d/* /etc/sysconfig/nftables.conf /etc/sysconfig/iptables "
    "/etc/iptables/rules.v4 /etc/iptables/rules.v6"
)
_FIREWALLD_FILES = (
    "$sudo find /etc/firewalld -type f '(' -name '*.xml' -o -name firewalld.conf ')' -exec tail -v -n +1 {} +"
)
# Units that the site wrote itself or added to, and their variables.
_CLUSTER_UNITS = (
    f"for unit in {' '.join(UNIT_ROLES)}; do for folder in /etc/systemd/system /usr/local/lib/systemd/system; do "
    'echo "$folder/$unit.service"; echo "$folder/$unit.service.d/"*.conf; done; '
    'echo "/etc/default/$unit" "/etc/sysconfig/$unit"; done'
)
_SUDO = 'sudo=; [ "$(id -u)" = 0 ] || sudo="sudo -n"'
HOST_COMMANDS = {
    "os_release": "cat /etc/os-release",
    "meminfo": "cat /proc/meminfo",
    "lscpu": "LC_ALL=C lscpu",
    "gpus": "timeout 20 nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader,nounits",
    "mounts": "findmnt --json --list -o TARGET,SOURCE,FSTYPE,OPTIONS",
    "passwd": "cat /etc/passwd",  # nosec B105 # pragma: allowlist secret
    "group": "cat /etc/group",
    "sysctl": f"{_FILES} $(ls -d /etc/sysctl.conf /etc/sysctl.d/*.conf | xargs -r readlink -f | sort -u)",
    "limits": f"{_FILES} /etc/security/limits.conf /etc/security/limits.d/*.conf",
    "fstab": "cat /etc/fstab",
    "exports": f"{_FILES} /etc/exports /etc/exports.d/*.exports",
    "holds": "apt-mark showhold || dnf -q versionlock list",
    "pins": f"{_FILES} /etc/apt/preferences /etc/apt/preferences.d/*",
    "units": "systemctl list-unit-files --state=enabled,masked --plain --no-legend --no-pager",
    "unit_files": "find /etc/systemd/system /usr/local/lib/systemd/system -type f | sort",
    "cluster_units": f"{_FILES} $({_CLUSTER_UNITS})",
    "failed_units": "systemctl list-units --failed --plain --no-legend --no-pager",
    "firewall": _RULES,
    "firewall_files": f"{_FILES} {_RULE_FILES}; {_FIREWALLD_FILES}",
    "firewalld": "$sudo firewall-cmd --list-all-zones",
}


def gather(remote: Connection, control: str, hosts: Sequence[str] = ()) -> RecordedSite:
    """Return the texts of a site: Slurm's files, accounting and addresses of its control host, files of the hosts.

    Of the control host and of `hosts`.

    Raises:
        WrightError: the control host does not answer, or has no slurm.conf.
    """
    host = Host(remote, control)
    site = gather_slurm(host)
    site = replace(site, addresses=_addresses(host, site), tables=gather_tables(host))
    names = list(dict.fromkeys((control, *hosts)))
    facts = fan_out(names, lambda name: read_host(Host(remote, name)))
    return replace(site, hosts=facts)


def read_host(host: Host, names: Sequence[str] = ()) -> RecordedHost:
    """Return the texts of a host that adopting needs, or only those with these names.

    Raises:
        WrightError: the host does not answer.
    """
    commands = {name: HOST_COMMANDS[name] for name in names or HOST_COMMANDS}
    return RecordedHost(**_run(host, _SUDO, commands))


def gather_watched(remote: Connection, cluster: Cluster) -> RecordedSite:
    """Return the texts that `wright diff` compares: Slurm's files, with accounting if the file watches that.

    Raises:
        WrightError: the control host does not answer, or has no slurm.conf.
    """
    host = Host(remote, cluster.control.name)
    site = gather_slurm(host)
    return replace(site, tables=gather_tables(host)) if watches_accounts(cluster) else site


def gather_watched_hosts(
    remote: Connection, cluster: Cluster, names: Sequence[str]
) -> dict[str, RecordedHost | None]:
    """Return, over SSH, the texts with these names of each permanent host; None for a host that does not answer."""

    def read(name: str) -> RecordedHost | None:
        try:
            return read_host(Host(remote, name), names)
        except WrightError:
            return None

    return fan_out(cluster.permanent_hosts(), read)


def gather_tables(host: Host) -> dict[str, str]:
    """Return the tables of accounts, users, QOS and reservations from slurmdbd and slurmctld.

    All, or what the login user may see; "" for a table that cannot be read.
    """
    commands = {
        QOS: client.all_qos(),
        ASSOCIATIONS: client.all_associations(),
        USERS: client.all_users(),
        TABLE: client.show_reservations(),
    }
    lines = {name: client.line(argv) for name, argv in commands.items()}
    return _run(
        host, _SUDO, {name: f"timeout 30 $sudo {line} || timeout 30 {line}" for name, line in lines.items()}
    )


def gather_slurm(host: Host) -> RecordedSite:
    """Return the Slurm files of the control host, with the files that they include.

    Raises:
        WrightError: the host does not answer, or has no slurm.conf.
    """
    site = _slurm_files(host)
    for path in site.missing_includes():
        texts = _run(host, _CAT, {path: f"cat_file {shlex.quote(path)}"})
        site = replace(site, files={**site.files, **{name: text for name, text in texts.items() if text}})
    return site


def _slurm_files(host: Host) -> RecordedSite:
    query = client.line(client.show_config())
    script = (
        f"{_CAT}; conf=$({query} 2>/dev/null </dev/null | sed -n 's/^SLURM_CONF *= *//p'); conf=${{conf:-{_DEFAULT}}}; "
        'folder=$(dirname -- "$conf")'
    )
    separator = random_mark()
    files = (
        'for file in "$folder"/*.conf "$folder"/*.yaml "$folder"/*/*.conf; do [ -f "$file" ] || continue; '
        f'echo "{separator} $file"; cat_file "$file"; echo; done'
    )
    commands = {"folder": 'echo "$folder"', "version": client.line(client.version()), "files": files}
    texts = _run(host, script, commands)
    parts = [part.partition("\n") for part in texts["files"].split(f"{separator} ")[1:]]
    contents = {path: text for path, _newline, text in parts}
    folder = texts["folder"].strip()
    if f"{folder}/slurm.conf" not in contents:
        raise WrightError.from_code(
            "no-slurm",
            _("{host} has no readable slurm.conf in {folder}", host=host.name, folder=folder),
            _("name the host of slurmctld with --control, or pass a copy of its folder with --folder FOLDER"),
        )
    return RecordedSite(contents, folder, texts["version"].strip().rpartition(" ")[2])


def _run(host: Host, prelude: str, commands: dict[str, str]) -> dict[str, str]:
    """Run the commands in one shell and return the output of each; "" for a command that failed.

    Raises:
        WrightError: the host does not answer.
    """
    separator = random_mark()
    parts = [f"echo {separator}; {{ {command}; }} 2>/dev/null </dev/null" for command in commands.values()]
    result = host.run("; ".join((*filter(None, (prelude,)), *parts, "true")), timeout_s=_READ_S)
    texts = slurm.checked(result, host.name, "sh").out.split(f"{separator}\n")[1:]
    return dict(zip(commands, texts, strict=False))


def _addresses(host: Host, site: RecordedSite) -> str:
    """Return lines NAME ADDRESS of the controllers and nodes, as the control host resolves them."""
    conf = parse_conf(site.sources(), "")
    names = {name: name for name in (*conf.hosts, *map(controller_name, conf.controllers))}
    lines = "".join(f"{name}\n" for name in sorted(names))
    command = (
        'while read -r name; do address=$(getent ahostsv4 -- "$name" | head -n 1 | cut -d " " -f 1); '
        'echo "$name $address"; done'
    )
    return host.run(command, stdin=lines.encode(), timeout_s=_READ_S * 5).out
