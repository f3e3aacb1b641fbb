"""Node groups from NodeName lines: hosts of the same line values in the same partitions are one group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.adopt.lines import LeftOut, is_option, is_supported_key, omit_keys, spelled
from clusterwright.config.names import expand_valid, fold
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf
from clusterwright.config.slurm_rules.conf import gres_of, hosts_of, parse_number
from clusterwright.i18n import _
from clusterwright.provision.render.slurm_lines import CPU_KEYS
from clusterwright.units import MiB, format_size

PER_HOST = (
    "nodeaddr",
    "nodehostname",
    "port",
    "bcastaddr",
)  # keys with a list, one item for each host of the line
_MOST_SOCKETS, _MOST_CORES, _MOST_THREADS, _MOST_GPUS = 32, 1024, 8, 128  # limits of the cluster file
_HOST = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
NO_TYPE = "gpu"  # the model of GPUs whose Gres has no type
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(slots=True)
class HostGroup:
    """Hosts of one group, the values of their NodeName line, and what the file says of them."""

    hosts: list[str]
    values: dict[str, str]
    is_control: bool
    entry: ConfEntry
    per_host: dict[str, dict[str, str]] = field(default_factory=dict)

    def section(self) -> dict[str, Any]:
        """Return the group as a section of the cluster file, without its addresses."""
        options = omit_keys(self.values, *PER_HOST)
        hosts = fold(self.hosts)
        section: dict[str, Any] = {"role": "control" if self.is_control else "compute", "hosts": hosts}
        section["cpus"] = self._cpus(options)
        section["memory"] = self._memory(options)
        if reserved := parse_number(options.pop("memspeclimit", "")):
            section["memory_reserved"] = format_size(reserved * MiB)
        if gpus := self._gpus(options):
            section["gpus"] = gpus
        if options.get("state", "").upper() == "UNKNOWN":
            del options["state"]
        for key in PER_HOST:
            if key in self.values:
                items = [self.per_host[host][key] for host in hosts_of(hosts)]
                options[key] = items[0] if len(set(items)) == 1 else ",".join(items)
        if options:
            section["options"] = {spelled(key, "NodeName"): value for key, value in options.items()}
        return section

    def processor_keys(self) -> dict[str, str]:
        """Return the NodeName line's keys of processors as options, which replace those of `cpus`."""
        keys = {key: value for key, value in self.values.items() if key in CPU_KEYS}
        return {spelled(key, "NodeName"): value for key, value in (keys or {"cpus": "1"}).items()}

    def _cpus(self, options: dict[str, str]) -> dict[str, int]:
        """Return sockets, cores per socket and threads per core of a NodeName line, and remove its keys.

        A line that says more than these, or too many, stays in `options`.
        """
        numbers = {key: parse_number(options.get(key, "")) for key in CPU_KEYS}
        cpus, boards = numbers["cpus"] or numbers["procs"], numbers["boards"] or 1
        cores, threads = numbers["corespersocket"] or 1, numbers["threadspercore"] or 1
        sockets = numbers["sockets"] or numbers["socketsperboard"] * boards
        if not sockets:
            sockets = cpus // (cores * threads) if cpus else 1
        is_exact = boards == 1 and cpus in (0, sockets * cores * threads)
        if sockets <= _MOST_SOCKETS and cores <= _MOST_CORES and threads <= _MOST_THREADS and is_exact:
            for key in CPU_KEYS:
                options.pop(key, None)
            return {"sockets": max(1, sockets), "cores_per_socket": cores, "threads_per_core": threads}
        if sockets > _MOST_SOCKETS:
            return {"sockets": 1, "cores_per_socket": min(_MOST_CORES, cpus), "threads_per_core": 1}
        return {
            "sockets": max(1, sockets),
            "cores_per_socket": min(_MOST_CORES, cores),
            "threads_per_core": min(_MOST_THREADS, threads),
        }

    def _memory(self, options: dict[str, str]) -> str:
        """Return the installed memory, of which Slurm's RealMemory is 31/32; `realmemory` leaves the options.

        Without a RealMemory above 1 it is 2GiB, and the options get Slurm's default 1.
        """
        usable = parse_number(options.get("realmemory", ""))
        if usable > 1:
            del options["realmemory"]
            return format_size(-(-usable * 32 // 31) * MiB)
        options["realmemory"] = "1"  # Slurm's default
        return "2GiB"

    def _gpus(self, options: dict[str, str]) -> dict[str, Any] | None:
        """Return model and count of the first GPU type, None without one; a single type leaves `gres` of the options.

        A Gres with more than that stays in the options, too; a type that is no identifier becomes NO_TYPE.
        """
        rows = gres_of(self.entry)
        gpus = [(kind, count) for name, kind, count in rows if name == "gpu" and 0 < count <= _MOST_GPUS]
        if not gpus:
            return None
        kind, count = gpus[0]
        written = options.get("gres", "")
        if written == f"gpu:{kind}:{count}" and _IDENTIFIER.fullmatch(kind):
            del options["gres"]
        return {"model": kind if _IDENTIFIER.fullmatch(kind) else NO_TYPE, "count": count}


def node_groups(
    conf: SlurmConf, controllers: tuple[str, ...], left_out: list[LeftOut]
) -> dict[str, HostGroup]:
    """Return the node groups by name: hosts with equal NodeName values, partitions and role.

    Hosts that a cluster file cannot have are added to `left_out`.
    """
    partitions = {partition.name: conf.hosts_in(partition) for partition in conf.partitions}
    groups: dict[tuple[Any, ...], HostGroup] = {}
    for entry in conf.nodes:
        values = _line_values(conf, entry, left_out)
        items = per_host(entry)
        for host in _hosts(entry, left_out):
            members = tuple(name for name, hosts in partitions.items() if host in hosts)
            role = controllers.index(host) if host in controllers else None
            lists = tuple(key for key in PER_HOST if key in values)
            key = (tuple(sorted(omit_keys(values, *PER_HOST).items())), lists, members, role)
            group = groups.setdefault(key, HostGroup([], values, role is not None, entry))
            group.hosts.append(host)
            group.per_host[host] = {name: by_host.get(host, "") for name, by_host in items.items()}
    named: dict[str, HostGroup] = {}
    for group in groups.values():
        named[free_name(group_stem(group.hosts[0]), named)] = group
    return named


def free_name(stem: str, used: Mapping[str, object]) -> str:
    """Return the stem, or the stem with a number, whichever is not used yet."""
    candidates = (stem, *(f"{stem}-{number}" for number in range(2, len(used) + 3)))
    return next(name for name in candidates if name not in used)


def group_stem(host: str) -> str:
    """Return the name for a group by its first host: the host's name without its number, or `nodes`."""
    return re.sub(r"[^A-Za-z]*[0-9].*", "", host).rstrip("-") or "nodes"


def _hosts(entry: ConfEntry, left_out: list[LeftOut]) -> Iterator[str]:
    names = expand_valid(entry.name)
    unfit = [name for name in names if not _HOST.fullmatch(name)]
    if unfit or not names:
        reason = _("a cluster file has host names of lower-case letters, digits and -")
        left_out.append(LeftOut(entry.file, entry.line, f"NodeName={entry.name}", reason))
    yield from (name for name in names if name not in unfit)


def _line_values(conf: SlurmConf, entry: ConfEntry, left_out: list[LeftOut]) -> dict[str, str]:
    values = {}
    for key, value in entry.values.items():
        if not is_supported_key(key, conf.slurm_release, "NodeName"):
            reason = _("Slurm {release} does not have this key", release=conf.slurm_release)
        elif not is_option(value):
            reason = _("the value cannot be an option of the cluster file")
        else:
            values[key] = value
            continue
        left_out.append(LeftOut(entry.file, entry.line, f"{key}={value}", reason))
    return values


def per_host(entry: ConfEntry) -> dict[str, dict[str, str]]:
    """Return the items of NodeAddr, NodeHostname, Port and BcastAddr by key and host, paired as Slurm pairs them."""
    hosts = _in_order(entry.name)
    items_by_key = {}
    for key in PER_HOST:
        if entry.has(key):
            items = _in_order(entry.get(key))
            items = items * len(hosts) if len(items) == 1 else items
            items_by_key[key] = dict(zip(hosts, items, strict=False))
    return items_by_key


def _in_order(hostlist: str) -> list[str]:
    """Return the names of a hostlist in the order of its items."""
    parts = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", hostlist)
    return [name for part in parts for name in (expand_valid(part) or (part,))]
