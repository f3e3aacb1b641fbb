"""Sections of partitions from PartitionName lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterwright.adopt.groups import HostGroup
from clusterwright.adopt.lines import LeftOut, is_option, is_supported_key, omit_keys, spelled
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf
from clusterwright.config.slurm_rules.conf import minutes, parse_number
from clusterwright.i18n import _
from clusterwright.units import DAY_S, MINUTE_S, format_duration

LONGEST_S = 366 * DAY_S  # of a cluster file; Slurm also has no limit
_MOST = 65533  # PriorityTier, MaxNodes
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def partition_sections(
    conf: SlurmConf, groups: Mapping[str, HostGroup], left_out: list[LeftOut]
) -> dict[str, dict[str, Any]]:
    """Return the cluster file's sections of partitions by name; of several defaults only the last is one.

    Partitions whose name does not fit, or whose nodes are in no group, are added to `left_out`.
    """
    sections: dict[str, dict[str, Any]] = {}
    defaults = [entry.name for entry in conf.partitions if _is_yes(entry.get("Default"))]
    for entry in conf.partitions:
        hosts = conf.hosts_in(entry)
        names = [name for name, group in groups.items() if group.hosts[0] in hosts]
        if not _NAME.fullmatch(entry.name) or not names:
            reason = (
                _("no NodeName line has the nodes of this partition")
                if not names
                else _("a cluster file has names of letters, digits, _, . and -, the first a letter")
            )
            left_out.append(
                LeftOut(
                    entry.file, entry.line, f"PartitionName={entry.name} Nodes={entry.get('Nodes')}", reason
                )
            )
            continue
        section: dict[str, Any] = {"nodes": names}
        if entry.name in defaults[-1:]:
            section["default"] = True
        section |= _fields(conf, entry, left_out)
        sections[entry.name] = section
        _unknown_hosts(conf, entry, hosts, left_out)
    return sections


def _is_yes(value: str) -> bool:
    return value.lower() in ("yes", "true", "up", "1")


def _unknown_hosts(conf: SlurmConf, entry: ConfEntry, hosts: frozenset[str], left_out: list[LeftOut]) -> None:
    if unknown := sorted(hosts - set(conf.hosts)):
        reason = _("no NodeName line has these nodes")
        left_out.append(LeftOut(entry.file, entry.line, f"Nodes={','.join(unknown)}", reason))


def _fields(conf: SlurmConf, entry: ConfEntry, left_out: list[LeftOut]) -> dict[str, Any]:
    """Return the section of a partition: its keys as fields, and as options where no field holds their value.

    Keys that the release does not have are added to `left_out`.
    """
    options: dict[str, str] = {}
    for key, value in omit_keys(entry.values, "nodes", "default").items():
        if not is_supported_key(key, conf.slurm_release, "PartitionName") or not is_option(value):
            reason = _("Slurm {release} does not have this key or value", release=conf.slurm_release)
            left_out.append(LeftOut(entry.file, entry.line, f"{key}={value}", reason))
        else:
            options[key] = value
    section: dict[str, Any] = {}
    limit = minutes(options.get("maxtime", ""))
    if limit is not None and MINUTE_S <= limit * MINUTE_S <= LONGEST_S:
        section["max_time"] = format_duration(limit * MINUTE_S)
        del options["maxtime"]
    else:
        section["max_time"] = format_duration(LONGEST_S)
        options.setdefault("maxtime", "UNLIMITED")
    default = minutes(options.get("defaulttime", ""))
    if default and default * MINUTE_S <= (limit or default) * MINUTE_S <= LONGEST_S:
        section["default_time"] = format_duration(default * MINUTE_S)
        del options["defaulttime"]
    for key, field in (("prioritytier", "priority"), ("maxnodes", "max_nodes")):
        if 1 <= parse_number(options.get(key, "")) <= _MOST:
            section[field] = parse_number(options.pop(key))
    if options.get("oversubscribe", "").upper() == "EXCLUSIVE":
        section["exclusive"] = True
        del options["oversubscribe"]
    if options.get("state", "").upper() == "UP":  # Slurm's default
        del options["state"]
    if options:
        section["options"] = {spelled(key, "PartitionName"): value for key, value in options.items()}
    return section
