"""Reservations of slurmctld as reservations of the cluster file; those that it cannot hold are listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterwright.adopt.accounts import is_slurm_name
from clusterwright.adopt.lines import LeftOut
from clusterwright.config.names import expand_valid, fold
from clusterwright.config.slurm_rules.conf import minutes
from clusterwright.i18n import _
from clusterwright.slurm.records import Record
from clusterwright.slurm.reservations import parse_reservations
from clusterwright.units import DAY_S, MINUTE_S, WEEK_S, format_duration

TABLE = "reservations"  # name of the text of `scontrol show reservation -o`
_REPEAT = {"DAILY": "daily", "WEEKLY": "weekly", "WEEKDAY": "weekdays"}
# slurmctld sets SPEC_NODES, and ALL_NODES for Nodes=ALL, by itself; IGNORE_JOBS says how the reservation was created.
_HARMLESS = frozenset({"MAINT", "SPEC_NODES", "ALL_NODES", "IGNORE_JOBS", *_REPEAT})
_OTHER_SELECTIONS = ("Features", "Groups", "Licenses", "BurstBuffer", "CoreIDs", "MaxStartDelay", "Comment")
_START = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")


def reservation_sections(
    text: str, nodes: frozenset[str], sections: Mapping[str, Any], left_out: list[LeftOut]
) -> dict[str, dict[str, Any]]:
    """Return the cluster file's sections of reservations by name, from Slurm's reservations.

    Those that it cannot hold are added to `left_out`; `nodes` are those of compute groups, `sections` has teams and
    users.
    """
    reservations: dict[str, dict[str, Any]] = {}
    for number, record in parse_reservations(text):
        name = record["ReservationName"]
        section, reason = _section(record, nodes, sections)
        if reason or not is_slurm_name(name):
            reason = reason or _("the cluster file does not accept this name")
            left_out.append(LeftOut(TABLE, number, f"reservation {name}: {_summary(record)}", reason))
        else:
            reservations[name] = section
    return reservations


def _summary(record: Record) -> str:
    keys = ("Nodes", "StartTime", "Duration", "Users", "Accounts", "Flags")
    return " ".join(f"{key}={record[key]}" for key in keys if record[key])


def _section(
    record: Record, nodes: frozenset[str], sections: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return the section of a reservation, and why a cluster file cannot hold it; "" if it can."""
    flags, hosts = set(record.split("Flags")), expand_valid(record["Nodes"])
    if unsupported := [key for key in _OTHER_SELECTIONS if record[key]]:
        return {}, _("no field holds {key} of a reservation", key=unsupported[0])
    if unknown := sorted(flags - _HARMLESS):
        return {}, _("no field holds the flag {flag} of a reservation", flag=unknown[0])
    if not hosts or not nodes.issuperset(hosts):
        return {}, _("the reservation's nodes are not compute hosts of the cluster file")
    duration = minutes(record["Duration"])
    if not duration or not _START.fullmatch(record["StartTime"]):
        return {}, _("the reservation's start or duration cannot be written in a cluster file")
    section: dict[str, Any] = {
        "hosts": fold(hosts),
        "start": record["StartTime"],
        "duration": format_duration(duration * MINUTE_S),
    }
    section |= next(({"repeat": value} for flag, value in _REPEAT.items() if flag in flags), {})
    section |= {"maintenance": True} if "MAINT" in flags else {}
    every = WEEK_S if section.get("repeat") == "weekly" else DAY_S
    if "repeat" in section and duration * MINUTE_S > every:
        return {}, _("the reservation's start or duration cannot be written in a cluster file")
    names, reason = _access(record, sections)
    if not (names or reason or "MAINT" in flags):
        reason = _("only root may use this reservation, but it is no maintenance reservation")
    return section | names, reason


def _access(record: Record, sections: Mapping[str, Any]) -> tuple[dict[str, list[str]], str]:
    """Return the users or teams that may use a reservation, and why a cluster file cannot have them, "" if it can.

    root alone means nobody.
    """
    users, teams = sorted(record.split("Users")), sorted(record.split("Accounts"))
    if users == ["root"] and not teams:
        return {}, ""
    if users and teams:
        return {}, _(
            "the reservation permits only some users of some accounts; a cluster file permits users or teams"
        )
    names = {*sections.get("users", ()), *sections.get("teams", ())}
    if unknown := [name for name in (*users, *teams) if name not in names]:
        return {}, _("{name} is no user or team of the cluster file", name=unknown[0])
    return {key: names for key, names in (("users", users), ("teams", teams)) if names}, ""
