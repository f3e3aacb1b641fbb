"""Reservations: compares desired rows with slurmctld's, and changes them by scontrol.

Standard library only, Python 3.6 or later. Times are local times of this host, as Slurm's are.
"""

import re
import time
from typing import Any, Dict, List, Optional

from clusterwright.onhost.provision.accounts import Key
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import ChangeError, Json, must, run

COMPARED = ("Nodes", "StartTime", "Duration", "Users", "Accounts", "Flags")
OURS = ("MAINT", "DAILY", "WEEKLY", "WEEKDAY")  # flags from the cluster file; slurmctld adds others
REPEATED = ("DAILY", "WEEKLY", "WEEKDAY")
FORM = "%Y-%m-%dT%H:%M:%S"
SUMMER = 0.1  # of a day: daylight saving time moves a start by an hour


def plan_rows(host: Any, rows: List[Json], ours: List[Key]) -> List[Json]:
    """Return one change for each reservation that differs, or one for all if slurmctld does not respond.

    A reservation that is over only has a note; those of `ours` that the file no longer has are removed.
    """
    if not rows and not ours:
        return []
    have = query_reservations()
    if have is None:
        description = f"compare with slurmctld, which does not respond yet (reservations: {len(rows)})"
        return [new_change(description, Verb.COMPARE)] if rows else []
    changes = []
    for row in rows:
        if is_over(row):
            host.notes.append(f"reservation {row['name']} is over. Remove it from the cluster file")
        elif row["name"] not in have:
            changes.append(new_change(f"create reservation {row['name']}", Verb.CREATE))
        elif differences(row, have[row["name"]]):
            difference_text = ", ".join(differences(row, have[row["name"]]))
            changes.append(new_change(f"reservation {row['name']}: {difference_text}", Verb.MODIFY))
    obsolete_names = find_obsolete(rows, have, ours)
    return changes + [new_change(f"remove reservation {name}", Verb.REMOVE) for name in obsolete_names]


def do(rows: List[Json], ours: List[Key]) -> None:
    """Create and update Slurm's reservations by `rows`; delete those of `ours` (of earlier applies) without a row.

    One call of scontrol for each that differs; reservations of others stay, rows that are over are skipped.

    Raises:
        ChangeError: slurmctld does not respond or rejects a reservation.
    """
    have = query_reservations()
    if have is None:
        raise ChangeError(
            "slurmctld does not respond, so reservations are not set. Run apply again when it does", "host"
        )
    for name in find_obsolete(rows, have, ours):
        must(["scontrol", "delete", "ReservationName=" + name])
    for row in rows:
        if is_over(row):
            continue
        if row["name"] not in have:
            must(["scontrol", "create", "ReservationName=" + row["name"], *scontrol_arguments(row)])
        elif differences(row, have[row["name"]]):
            must(
                [
                    "scontrol",
                    "update",
                    "ReservationName=" + row["name"],
                    *scontrol_arguments(row, have[row["name"]]),
                ]
            )


def query_reservations() -> Optional[Dict[str, Dict[str, str]]]:
    """Return slurmctld's reservations, as fields by name; None if it does not respond."""
    result = run(["scontrol", "--oneliner", "show", "reservation"], 20)
    if result.code != 0:
        return None
    by_name = {}
    for text in result.out.splitlines():
        fields = dict(re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", text))
        if "ReservationName" in fields:
            by_name[fields["ReservationName"]] = fields
    return by_name


def find_obsolete(rows: List[Json], have: Dict[str, Dict[str, str]], ours: List[Key]) -> List[str]:
    """Return the names of reservations that applies made and the cluster file no longer has."""
    named = {row["name"] for row in rows}
    return [key[1] for key in ours if key[1] in have and key[1] not in named]


def differences(row: Json, have: Dict[str, str]) -> List[str]:
    """Return a text such as `Duration 480 -> 600` for each field that differs from slurmctld's.

    A start or end that means the same time does not differ.
    """
    now = normalize_row(have)
    descriptions = []
    for name in COMPARED:
        if name == "StartTime" and same_start(row, have):
            continue
        if name == "Duration" and same_end(row, have):
            continue
        if row[name] != now[name]:
            descriptions.append(f"{name} {now[name] or 'none'} -> {row[name] or 'none'}")
    return descriptions


def normalize_row(have: Dict[str, str]) -> Dict[str, str]:
    """Return slurmctld's fields of a reservation in the form that the bundle has, to compare both."""
    none = ("(null)", "")
    flags = have.get("Flags", "").split(",")
    lists = {
        name: "" if have.get(name) in none else ",".join(sorted(have[name].split(",")))
        for name in ("Users", "Accounts")
    }
    return {
        "Nodes": have.get("Nodes", ""),
        "StartTime": have.get("StartTime", ""),
        "Duration": str(minutes_of(have.get("Duration", "0"))),
        "Flags": ",".join(flag for flag in OURS if flag in flags),
        **lists,
    }


def same_start(row: Json, have: Dict[str, str]) -> bool:
    """Return True if the start counts as the desired one.

    A repeated reservation may have moved on by whole days or weeks; one created late starts at its creation.
    """
    desired_start, now = moment(row["StartTime"]), moment(have.get("StartTime", ""))
    if any(flag in row["Flags"] for flag in REPEATED):
        step = 7 if "WEEKLY" in row["Flags"] else 1
        days = (time.mktime(now) - time.mktime(desired_start)) / 86400
        return now[3:5] == desired_start[3:5] and abs(days - round(days / step) * step) < SUMMER
    begun = time.mktime(desired_start) <= time.mktime(now) <= time.time()
    return now[:5] == desired_start[:5] or begun


def same_end(row: Json, have: Dict[str, str]) -> bool:
    """Return True if a reservation created late ends at the desired time although its duration is shorter.

    False for one that repeats, or whose start differs; ends may differ by a minute.
    """
    if any(flag in row["Flags"] for flag in REPEATED) or not same_start(row, have):
        return False
    desired_end = time.mktime(moment(row["StartTime"])) + int(row["Duration"]) * 60
    return abs(time.mktime(moment(have["EndTime"])) - desired_end) <= 60


def is_over(row: Json) -> bool:
    """Return True if the reservation has ended and does not repeat."""
    if any(flag in row["Flags"] for flag in REPEATED):
        return False
    return time.mktime(moment(row["StartTime"])) + int(row["Duration"]) * 60 < time.time()


def moment(text: str) -> time.struct_time:
    """Return a local time of Slurm or of the cluster file, with or without seconds, parsed."""
    return time.strptime(text if text.count(":") > 1 else text + ":00", FORM)


def minutes_of(text: str) -> int:
    """Return the minutes of Slurm's duration `1-02:03:04`."""
    days, _, clock = text.rpartition("-")
    hours, minutes, _seconds = ([0, 0] + [int(part) for part in clock.split(":")])[-3:]
    return int(days or 0) * 1440 + hours * 60 + minutes


def scontrol_arguments(row: Json, have: Optional[Dict[str, str]] = None) -> List[str]:
    """Return the NAME=VALUE arguments of scontrol create or update; a start in the past becomes now, with the same end.

    A repeated reservation starts at its next occurrence.
    """
    start, minutes = row["StartTime"], int(row["Duration"])
    late = int(time.time() - time.mktime(moment(start))) // 60
    repeated = any(flag in row["Flags"] for flag in REPEATED)
    if late >= 0 and not repeated:
        start, minutes = "now", max(1, minutes - late)
    elif late >= 0:
        start = next_start(row)
    flags = [row["Flags"]] if row["Flags"] else []
    if "MAINT" in row["Flags"] or have is None:
        flags.append("IGNORE_JOBS")  # running jobs on these nodes continue
    fields = {
        "StartTime": start,
        "Duration": str(minutes),
        "Nodes": row["Nodes"],
        "Users": row["Users"],
        "Accounts": row["Accounts"],
        "Flags": ",".join(flags),
    }
    if have is not None and same_start(row, have):
        del fields["StartTime"]
    return [f"{name}={value}" for name, value in fields.items() if value or have is not None]


def next_start(row: Json) -> str:
    """Return the next start of a repeated reservation; its first day may be long past."""
    step = 7 if "WEEKLY" in row["Flags"] else 1
    first_start = moment(row["StartTime"])
    today = time.localtime()
    days = 0
    while True:
        coming = time.mktime((*today[:2], today[2] + days, *first_start[3:6], 0, 0, -1))
        weeks_fit = step == 1 or time.localtime(coming)[6] == first_start[6]
        if coming > time.time() and weeks_fit:
            return time.strftime(FORM, time.localtime(coming))
        days += 1
