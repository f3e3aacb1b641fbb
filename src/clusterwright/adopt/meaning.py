"""Compare two slurm.conf by meaning: defaults written out, hostlists expanded, order and spelling ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.adopt.groups import per_host
from clusterwright.config.slurm_keys import LIST_VALUED_KEYS
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf
from clusterwright.config.slurm_rules.conf import gres_of, minutes, parse_number
from clusterwright.config.slurm_rules.rules.network import controller_address, controller_name
from clusterwright.provision.render.slurm_lines import CPU_KEYS, canonical

# slurm.conf(5): what a line means that does not have the key.
_NODE_DEFAULTS = {
    "realmemory": "1",
    "state": "UNKNOWN",
    "weight": "1",
    "tmpdisk": "0",
    "memspeclimit": "0",
    "corespeccount": "0",
}
_PARTITION_DEFAULTS = {
    "default": "NO",
    "maxtime": "UNLIMITED",
    "defaulttime": "NONE",
    "maxnodes": "UNLIMITED",
    "minnodes": "0",
    "state": "UP",
    "oversubscribe": "NO",
    "hidden": "NO",
    "rootonly": "NO",
    "disablerootjobs": "NO",
    "prioritytier": "1",
    "priorityjobfactor": "1",
    "lln": "NO",
    "reqresv": "NO",
    "exclusiveuser": "NO",
    "gracetime": "0",
    "allowaccounts": "ALL",
    "allowgroups": "ALL",
    "allowqos": "ALL",
}
_NO_LIMIT = frozenset({"unlimited", "infinite", "-1"})
_YES, _NO = frozenset({"yes", "true"}), frozenset({"no", "false"})
_CONTROLLER_KEYS = frozenset(
    {"slurmctldhost", "controlmachine", "controladdr", "backupcontroller", "backupaddr"}
)
_LISTS = frozenset(
    {"features", "allowaccounts", "allowgroups", "allowqos", "denyaccounts", "denyqos", "grestypes"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One meaning that differs: what it is of, such as `node a1`, its key, and both values; "" is absent."""

    subject: str
    key: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.key}: {self.old or '-'} -> {self.new or '-'}"


def differences(old: SlurmConf, new: SlurmConf) -> tuple[Difference, ...]:
    """Return the differences in meaning between two slurm.conf of one release; an empty tuple if there are none."""
    ours, theirs = dict(_meanings(old)), dict(_meanings(new))
    return tuple(
        Difference(subject, key, ours.get((subject, key), ""), theirs.get((subject, key), ""))
        for subject, key in sorted(ours.keys() | theirs.keys())
        if ours.get((subject, key), "") != theirs.get((subject, key), "")
    )


def _meanings(conf: SlurmConf) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((subject, key), value) for everything that slurm.conf says, as normalized texts."""
    for key, lines in conf.settings.get("slurm.conf", {}).items():
        if key not in _CONTROLLER_KEYS and key != "include":
            yield ("setting", key), meaning_of(key, lines[-1].value)
    names = (
        f"{controller_name(controller)}({controller_address(controller)})" for controller in conf.controllers
    )
    yield ("setting", "slurmctldhost"), " ".join(names)
    for node in conf.nodes:
        for host, values in _by_host(node):
            yield from (((f"node {host}", key), value) for key, value in values.items())
    defaults = [
        partition.name for partition in conf.partitions if meaning_of("", partition.get("Default")) == "yes"
    ]
    for partition in conf.partitions:
        values = {**_PARTITION_DEFAULTS, **{canonical(key): value for key, value in partition.values.items()}}
        values |= {"nodes": ",".join(sorted(conf.hosts_in(partition)))}
        values |= {"default": "yes" if partition.name in defaults[-1:] else "no"}
        for key, value in values.items():
            yield (f"partition {partition.name}", key), meaning_of(key, value)


def _by_host(node: ConfEntry) -> Iterator[tuple[str, dict[str, str]]]:
    items = per_host(node)
    values = {**_NODE_DEFAULTS, **{canonical(key): value for key, value in node.values.items()}}
    values = {key: meaning_of(key, value) for key, value in values.items() if key not in CPU_KEYS}
    values |= {"cpus": " ".join(map(str, _processors(node))), "gres": str(sorted(gres_of(node)))}
    for host in node.hosts:
        yield host, values | {key: names.get(host, "") for key, names in items.items()}


def _processors(node: ConfEntry) -> tuple[int, ...]:
    """Return CPUs, boards, sockets, cores per socket and threads per core, as slurmctld completes them."""
    numbers: Mapping[str, int] = {key: parse_number(node.get(key)) for key in CPU_KEYS}
    boards, cores, threads = (
        numbers["boards"] or 1,
        numbers["corespersocket"] or 1,
        numbers["threadspercore"] or 1,
    )
    cpus = numbers["cpus"] or numbers["procs"]
    sockets = numbers["sockets"] or numbers["socketsperboard"] * boards
    sockets = sockets or (max(1, cpus // (cores * threads)) if cpus else 1)
    return cpus or sockets * cores * threads, boards, sockets, cores, threads


def meaning_of(key: str, value: str) -> str:
    """Return the meaning of a value as text: words of a list sorted, times in minutes, yes and no in one spelling."""
    text = value.strip().lower()
    if text in _NO_LIMIT:
        return "unlimited"
    if text in _YES or text in _NO:
        return "yes" if text in _YES else "no"
    if key in ("maxtime", "defaulttime") and (limit := minutes(value)) is not None:
        return str(limit)
    if key == "clustername":  # slurmctld converts it
        return text
    if key in _LISTS or key in LIST_VALUED_KEYS:
        return ",".join(sorted(item.strip() for item in value.split(",") if item.strip()))
    return value.strip()
