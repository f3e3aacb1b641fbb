"""A site's Slurm files as a cluster file: its sections, and the lines that it cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from math import prod
from typing import Any

from clusterwright.adopt.account_tables import parse_accounts
from clusterwright.adopt.accounts import UnixIds, account_sections
from clusterwright.adopt.folders import SharedFolder, storage_sections
from clusterwright.adopt.groups import NO_TYPE, HostGroup, free_name, node_groups
from clusterwright.adopt.host_files import host_settings
from clusterwright.adopt.lines import (
    SECRETS,
    LeftOut,
    is_option,
    is_supported_key,
    omit_keys,
    redacted,
    spelled,
)
from clusterwright.adopt.networks import addressed
from clusterwright.adopt.partitions import partition_sections
from clusterwright.adopt.recorded import RecordedHost
from clusterwright.adopt.reservations import TABLE, reservation_sections
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf
from clusterwright.config.slurm_rules.rules.network import controller_address, controller_name
from clusterwright.errors import WrightError
from clusterwright.i18n import _

CONTROL = "control"
# Keys that sections of the cluster file hold.
_ELSEWHERE = (
    "slurmctldhost",
    "controlmachine",
    "controladdr",
    "backupcontroller",
    "backupaddr",
    "clustername",
    "include",
)
_REPEATABLE_KEYS = frozenset({"nodeset", "downnodes"})
_UNFIT = re.compile(r"[^a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class ObservedHardware:
    """Processors and memory of a host as fields of a node group; memory and catalog name of its first GPU."""

    cpus: Mapping[str, int]
    memory: str
    gpu_memory: str = ""
    gpu_model: str = ""


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What is known of a site beyond its Slurm files.

    `addresses`, `hardware` and `systems` (distributions) by host name; `os`: the distribution of most hosts; `driver`:
    version of the NVIDIA driver where all hosts have the same; `shared`: network folders that all hosts have;
    `hosts`: texts of hosts by name; `tables`: output of sacctmgr and of `scontrol show reservation`; `ids`: of users
    and groups.
    """

    addresses: Mapping[str, IPv4Address] = field(default_factory=dict)
    os: str = ""
    systems: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    hardware: Mapping[str, ObservedHardware] = field(default_factory=dict)
    shared: tuple[SharedFolder, ...] = ()
    hosts: Mapping[str, RecordedHost] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    ids: UnixIds = field(default_factory=UnixIds)


@dataclass(frozen=True, slots=True)
class Adopted:
    """The values of a cluster file, the lines that it does not hold, and the fields whose values are not known."""

    values: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    placeholders: tuple[str, ...] = ()


def express(conf: SlurmConf, version: str, facts: SiteFacts | None = None) -> Adopted:
    """Return the site's Slurm files and facts as values of a cluster file, with what that cannot hold.

    `version` is that of the site's Slurm.

    Raises:
        WrightError: `no-nodes`: slurm.conf has no host or no partition that a cluster file can have.
    """
    facts, left_out = facts or SiteFacts(), list[LeftOut]()
    controllers = tuple(dict.fromkeys(_short(controller_name(setting)) for setting in conf.controllers))
    groups = _with_controllers(conf, node_groups(conf, controllers, left_out), controllers)
    host_addresses = {**_node_addresses(groups), **_control_addresses(conf), **facts.addresses}
    groups, addresses, subnet = addressed(groups, host_addresses)
    partitions = partition_sections(conf, groups, left_out)
    if not partitions or not controllers:
        raise WrightError.from_code(
            "no-nodes",
            _("slurm.conf has no partition with nodes that a cluster file can describe"),
            _(
                "pass the whole slurm.conf with the files that it includes; it has no nodes that register themselves"
            ),
        )
    sections = {name: _group(group, addresses[name], facts) for name, group in groups.items()}
    name = _cluster_name(conf)
    options = _options(conf, name, left_out)
    _other_lines(conf, left_out)
    people = _people(conf, groups, facts, left_out)
    values = {
        "name": name,
        **({"os": facts.os} if facts.os else {}),
        "manage": [],
        "networks": {"management": {"subnet": str(subnet), "rate": "1Gbit/s"}},
        "nodes": sections,
        **_host_sections(groups, people.get("users", {}), facts, left_out),
        "software": {"slurm": version, **({"driver": facts.driver} if facts.driver else {})},
        "slurm": {"defaults": "slurm", **_configless(conf), "options": options},
        "partitions": partitions,
        **people,
    }
    return Adopted(values, tuple(left_out), tuple(_placeholders(groups, subnet, host_addresses, facts)))


def _host_sections(
    groups: Mapping[str, HostGroup], users: Mapping[str, Any], facts: SiteFacts, left_out: list[LeftOut]
) -> dict[str, Any]:
    """Return the sections `storage` and `system` of a cluster file: shared folders, sysctl, held packages.

    Without empty ones; lines of host files that they cannot hold are added to `left_out`.
    """
    hosts = frozenset(host for group in groups.values() for host in group.hosts)
    compute = frozenset(
        host for group in groups.values() if not is_only_controller(group) for host in group.hosts
    )
    settings = host_settings(facts.hosts, compute, frozenset(users), facts.shared)
    left_out += settings.left_out
    system: dict[str, Any] = {"sysctl": dict(settings.sysctl)} if settings.sysctl else {}
    system |= {"hold_packages": list(settings.held_packages)} if settings.held_packages else {}
    storage = storage_sections(facts.shared, hosts, frozenset(users))
    return {**({"storage": storage} if storage else {}), **({"system": system} if system else {})}


def _configless(conf: SlurmConf) -> dict[str, bool]:
    """Return the field `configless: true` if compute hosts have no slurm.conf of their own, else nothing."""
    parameters = conf.get("SlurmctldParameters").lower().split(",")
    return {"configless": True} if "enable_configless" in [item.strip() for item in parameters] else {}


def _people(
    conf: SlurmConf, groups: Mapping[str, HostGroup], facts: SiteFacts, left_out: list[LeftOut]
) -> dict[str, Any]:
    """Return the sections of accounting, QOS, teams, users and reservations.

    Without slurmdbd only accounting and reservations.
    """
    sections: dict[str, Any] = {}
    is_enabled = conf.plugin("AccountingStorageType", "none") == "slurmdbd"
    if is_enabled:
        records = parse_accounts(facts.tables, conf.get("ClusterName"))
        sections = account_sections(records, facts.ids, left_out)
    nodes = frozenset(host for group in groups.values() if not group.is_control for host in group.hosts)
    text = facts.tables.get(TABLE, "")
    if reservations := reservation_sections(text, nodes, sections, left_out):
        sections["reservations"] = reservations
    accounting: dict[str, Any] = {"enabled": is_enabled}
    host = _short(conf.get("AccountingStorageHost"))
    backup_hosts = [group.hosts[0] for group in groups.values() if group.is_control][1:]
    if is_enabled and host in backup_hosts:
        accounting["host"] = host
    return {"accounting": accounting, **sections}


def _short(name: str) -> str:
    return name.partition(".")[0].lower() if not name[:1].isdigit() else name


def _with_controllers(
    conf: SlurmConf, groups: dict[str, HostGroup], controllers: tuple[str, ...]
) -> dict[str, HostGroup]:
    """Return the groups with one for each controller, those first, in the order of slurm.conf."""
    by_controller = {group.hosts[0]: group for group in groups.values() if group.is_control}
    named: dict[str, HostGroup] = {}
    for host in controllers:
        entry = ConfEntry("NodeName", host, {}, frozenset(), conf.files.get("slurm.conf", ""), 0)
        group = by_controller.get(host) or HostGroup([host], {}, is_control=True, entry=entry)
        named[free_name(CONTROL, named)] = group
    for name, group in groups.items():
        if not group.is_control:
            named[free_name(name, named)] = group
    return named


def _group(group: HostGroup, address: str, facts: SiteFacts) -> dict[str, Any]:
    """Return the cluster file's section of a group of hosts: role, hosts, addresses and hardware.

    What slurm.conf does not say is from the group's first examined host. `address` is that of its first host.
    """
    section = group.section()
    observed = next((facts.hardware[host] for host in group.hosts if host in facts.hardware), None)
    if is_only_controller(group):
        section.pop("options")
        section["cpus"] |= observed.cpus if observed else {}
    elif observed and is_other_topology(observed.cpus, section["cpus"]):
        section["cpus"] = dict(observed.cpus)
        section["options"] = section.get("options", {}) | group.processor_keys()
    if observed and "realmemory" not in group.values:
        section["memory"] = observed.memory
    if observed and observed.gpu_memory and "gpus" in section:
        section["gpus"]["memory"] = observed.gpu_memory
    if observed and observed.gpu_model and section.get("gpus", {}).get("model") == NO_TYPE:
        section["gpus"]["model"] = observed.gpu_model
    head = {"role": section.pop("role")}
    systems = {facts.systems[host] for host in group.hosts if host in facts.systems}
    if len(systems) == 1 and facts.os not in systems:
        head["os"] = systems.pop()
    head["hosts"] = section.pop("hosts")
    return {**head, "addresses": {"management": address}, **section}


def is_other_topology(observed: Mapping[str, int], described: Mapping[str, int]) -> bool:
    """Return True if a host has the processors of its line in other sockets, cores and threads.

    (CPUs=8 names none of these.)
    """
    has_both = observed.keys() == described.keys() and prod(observed.values()) == prod(described.values())
    return has_both and dict(observed) != dict(described)


def is_only_controller(group: HostGroup) -> bool:
    """Return True if the group is a controller without a NodeName line."""
    return group.is_control and not group.values


def _node_addresses(groups: Mapping[str, HostGroup]) -> dict[str, IPv4Address]:
    pairs = (
        (host, values.get("nodeaddr", ""))
        for group in groups.values()
        for host, values in group.per_host.items()
    )
    return {host: address for host, text in pairs if (address := parse_address(text))}


def _control_addresses(conf: SlurmConf) -> dict[str, IPv4Address]:
    pairs = (
        (_short(controller_name(controller)), controller_address(controller))
        for controller in conf.controllers
    )
    return {host: address for host, text in pairs if (address := parse_address(text))}


def parse_address(text: str) -> IPv4Address | None:
    """Return the IPv4 address of a text; None for another text."""
    try:
        return IPv4Address(text)
    except ValueError:
        return None


def _cluster_name(conf: SlurmConf) -> str:
    return _UNFIT.sub("-", conf.get("ClusterName").lower()).strip("-0123456789")[:63].strip("-") or "cluster"


def _options(conf: SlurmConf, name: str, left_out: list[LeftOut]) -> dict[str, str]:
    """Return the settings of slurm.conf that no other field holds, as options; slurmctld uses the last line of a key.

    Keys that the release does not have, secrets, and values that do not fit (`is_option`) are added to `left_out`;
    empty values are skipped.
    """
    options: dict[str, str] = {}
    if any("(" in setting.value or _short(setting.value) != setting.value for setting in conf.controllers):
        options["SlurmctldHost"] = ",".join(setting.value for setting in conf.controllers)
    if conf.get("ClusterName").lower() not in ("", name):
        options["ClusterName"] = conf.get("ClusterName")
    for lines in omit_keys(conf.settings.get("slurm.conf", {}), *_ELSEWHERE).values():
        setting = lines[-1]
        if setting.key.lower() in _REPEATABLE_KEYS or not setting.value:  # an empty value is Slurm's default
            continue
        is_key = is_supported_key(setting.key, conf.slurm_release)
        if is_key and is_option(setting.value) and setting.key.lower() not in SECRETS:
            options[spelled(setting.key)] = setting.value
            continue
        reason = (
            _("the value cannot be an option of the cluster file")
            if is_key
            else _("Slurm {release} does not have this key", release=conf.slurm_release)
        )
        left_out.append(LeftOut(setting.file, setting.line, redacted(setting.key, setting.value), reason))
    return options


def _other_lines(conf: SlurmConf, left_out: list[LeftOut]) -> None:
    """Add to `left_out` the lines of slurm.conf that belong to no setting, node or partition.

    Also the includes that were not read.
    """
    for file, entry in conf.entries:
        if file == "slurm.conf" and entry.key.lower() in _REPEATABLE_KEYS:
            reason = (
                _("the node groups of the partitions in the cluster file have the nodes of that NodeSet")
                if entry.key == "NodeSet"
                else _("the cluster file has no states of nodes")
            )
            left_out.append(LeftOut(entry.file, entry.line, f"{entry.key}={entry.name}", reason))
    for setting in conf.missing_includes:
        left_out.append(
            LeftOut(setting.file, setting.line, f"Include {setting.value}", _("the file does not exist"))
        )


def _placeholders(
    groups: Mapping[str, HostGroup],
    subnet: IPv4Network,
    host_addresses: Mapping[str, IPv4Address],
    facts: SiteFacts,
) -> Iterator[str]:
    """Yield the cluster file's fields, as text, whose values are placeholders, because the site's are not known."""
    yield "networks.management.rate"
    if not facts.os:
        yield "os"
    if not all(
        host in host_addresses and host_addresses[host] in subnet
        for group in groups.values()
        for host in group.hosts
    ):
        yield "nodes.NAME.addresses"
    for name, group in groups.items():
        systems = {facts.systems[host] for host in group.hosts if host in facts.systems}
        if len(systems) > 1:
            yield _(
                "nodes.{group}.os: the hosts run {systems}", group=name, systems=", ".join(sorted(systems))
            )
        is_observed = any(host in facts.hardware for host in group.hosts)
        if "realmemory" not in group.values and not is_observed:
            yield f"nodes.{name}.memory"
        if is_only_controller(group) and not is_observed:
            yield f"nodes.{name}.cpus"
