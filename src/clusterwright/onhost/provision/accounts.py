"""Teams, members and qualities of service: compares desired rows with slurmdbd's.

Standard library only, Python 3.6 or later. Pure except for `in_use`.
"""

from typing import Dict, Iterable, List, Tuple

from clusterwright.onhost.provision.host import Json, run

Key = Tuple[str, ...]  # kind, name, and a member's team
Rows = Dict[Key, Dict[str, str]]

KIND_LABELS = {"qos": "qos", "account": "team", "user": "member", "person": "user"}
LISTS = ("Preempt", "QOS")
TIMES = ("GrpWall", "MaxWall")  # shown as D-HH:MM:SS, set in minutes
NON_SETTING_KEYS = ("kind", "name", "account")  # fields of a row that are not settings
BUILTIN_NAMES = ("root", "normal")  # slurmdbd's own account, user and quality of service


def key_of(row: Json) -> Key:
    """Return the key of a desired QOS, team or membership: kind, name, and a member's team."""
    return (row["kind"], row["name"], row["account"]) if "account" in row else (row["kind"], row["name"])


def describe_key(key: Key) -> str:
    """Return the text for a QOS, team or membership by its key: `team vision`, `member alice of vision`."""
    return " of ".join([f"{KIND_LABELS[key[0]]} {key[1]}", *key[2:]])


def rows_of(answers: Dict[str, List[Dict[str, str]]]) -> Rows:
    """Return sacctmgr's answers as dictionaries by field, with the keys of `key_of`.

    Associations with a partition are made by hand and ignored.
    """
    rows = {("qos", row["Name"]): row for row in answers["qos"]}  # type: Rows
    for row in answers["assoc"]:
        if row["Partition"]:
            continue
        member = ("user", row["User"], row["Account"])
        rows[member if row["User"] else ("account", row["Account"])] = dict(row, Parent=row["ParentName"])
    rows.update({("person", row["User"]): row for row in answers["user"]})
    return rows


def differences(row: Json, have: Dict[str, str]) -> List[Tuple[str, str, str]]:
    """Return (setting, present value, desired value) for each setting of the desired `row` that differs in slurmdbd.

    Flags differ only if one is missing, and AdminLevel only if it is or becomes Administrator.
    """
    changes = []
    for setting, value in row.items():
        if setting in NON_SETTING_KEYS:
            continue
        now = value_of(have, setting)
        if setting == "Flags":
            now = value if set(value.split(",")) <= set(now.split(",")) else now
        if setting == "AdminLevel" and "Administrator" not in (now, value):
            continue  # the cluster file does not manage Operators
        if now != value:
            changes.append((setting, now, value))
    return changes


def value_of(have: Dict[str, str], setting: str) -> str:
    """Return slurmdbd's value of a setting in the form of the desired state: one TRES, times as a number, lists sorted.

    Empty if slurmdbd has none.
    """
    name, _, part = setting.partition(" ")
    value = have.get(name, "")
    if part:
        return dict(item.split("=", 1) for item in value.split(",") if "=" in item).get(part, "")
    if name in LISTS:
        return ",".join(sorted(filter(None, value.split(","))))
    if name == "GraceTime":
        return str(seconds_of(value))
    if name in TIMES:
        return str(seconds_of(value) // 60) if value else ""
    return value


def seconds_of(value: str) -> int:
    """Return the seconds of Slurm's duration `1-02:03:04` or `02:03:04`."""
    days, _, clock = value.rpartition("-")
    hours, minutes, seconds = ([0, 0] + [int(part) for part in (clock or "0").split(":")])[-3:]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def describe_changes(changes: Iterable[Tuple[str, str, str]]) -> str:
    """Return changes of settings as text: `GrpTRES gres/gpu 8 -> 16`."""
    return ", ".join(f"{setting} {now or 'none'} -> {value or 'none'}" for setting, now, value in changes)


def settings(changes: Iterable[Tuple[str, str, str]]) -> List[str]:
    """Return changes (setting, present value, desired value) as arguments of sacctmgr.

    -1 removes a limit, an empty value clears a list.
    """
    arguments = []
    for setting, _now, value in changes:
        name, _, part = setting.partition(" ")
        if part:
            arguments.append(f"{name}={part}={value or -1}")
        elif name == "Flags":
            arguments.append("Flags+=" + value)
        elif name == "QOS":
            arguments.append("QosLevel=" + value)
        elif name in LISTS:
            arguments.append(f"{name}={value}")
        else:
            arguments.append(f"{name}={value or -1}")
    return arguments


def find_obsolete(rows: List[Json], have: Rows, ours: Iterable[Key]) -> List[Key]:
    """Return the keys of rows that applies made (`ours`) and the cluster file no longer has, in order of removal.

    The order is members, teams, QOS.
    """
    desired_keys = {key_of(row) for row in rows}
    order = ("user", "account", "qos")
    obsolete = [key for key in ours if key in have and key not in desired_keys and key[0] in order]
    return sorted(obsolete, key=lambda key: (order.index(key[0]), key))


def strangers(rows: List[Json], have: Rows, ours: Iterable[Key]) -> List[str]:
    """Return notes, at most one each, on teams, members and QOS in slurmdbd that somebody added by hand.

    Applies do not change them.
    """
    declared_keys = {key_of(row) for row in rows} | set(ours)
    notes = []
    for kind, label in (("account", "accounts"), ("user", "members"), ("qos", "qualities of service")):
        foreign_keys = [
            key
            for key in sorted(have)
            if key[0] == kind and key not in declared_keys and key[1] not in BUILTIN_NAMES
        ]
        if foreign_keys:
            names = ", ".join(" of ".join(key[1:]) for key in foreign_keys)
            notes.append(
                f"slurmdbd has {label} that are not in the cluster file: {names}. They are not changed"
            )
    return notes


def in_use() -> List[Dict[str, str]]:
    """Return user, account and QOS of each job in the queue; wildcards if squeue fails, so that nothing is removed."""
    result = run(["squeue", "--noheader", "--format=%u|%a|%q"], 20)
    if result.code != 0:
        return [{"user": "*", "account": "*", "qos": "*"}]
    names = ("user", "account", "qos")
    return [dict(zip(names, line.split("|"))) for line in result.out.split()]


def jobs_of(key: Key, jobs: List[Dict[str, str]]) -> int:
    """Return the number of jobs in the queue that the removal of the QOS, team or membership would end."""
    filters = {
        "user": {"user": key[1], "account": key[-1]},
        "account": {"account": key[1]},
        "qos": {"qos": key[1]},
    }
    rule = filters[key[0]]
    return sum(all(job[name] in (value, "*") for name, value in rule.items()) for job in jobs)
