"""Teams, members and qualities of service: wanted rows against those that slurmdbd has.

Standard library only, Python 3.6 or later. Pure but for `in_use`.
"""

from typing import Dict, Iterable, List, Tuple

from clusterwright.onhost.provision.host import Json, run

Key = Tuple[str, ...]  # kind, name, and a member's team
Rows = Dict[Key, Dict[str, str]]

WORDS = {"qos": "qos", "account": "team", "user": "member", "person": "user"}
LISTS = ("Preempt", "QOS")
APART = ("kind", "name", "account")  # of a row, what is no setting
OWN = ("root", "normal")  # slurmdbd's own account, user and quality of service


def key_of(row: Json) -> Key:
    """What tells a row from others."""
    return (row["kind"], row["name"], row["account"]) if "account" in row else (row["kind"], row["name"])


def told(key: Key) -> str:
    """`team vision`, `member alice of vision`."""
    return " of ".join([f"{WORDS[key[0]]} {key[1]}", *key[2:]])


def rows_of(answers: Dict[str, List[Dict[str, str]]]) -> Rows:
    """What slurmdbd has, keyed as wanted rows are; associations with a partition are somebody's by hand."""
    found = {("qos", row["Name"]): row for row in answers["qos"]}  # type: Rows
    for row in answers["assoc"]:
        if row["Partition"]:
            continue
        member = ("user", row["User"], row["Account"])
        found[member if row["User"] else ("account", row["Account"])] = dict(row, Parent=row["ParentName"])
    found.update({("person", row["User"]): row for row in answers["user"]})
    return found


def differences(row: Json, have: Dict[str, str]) -> List[Tuple[str, str, str]]:
    """Setting, as it is, as wanted; for each that differs."""
    found = []
    for setting, value in row.items():
        if setting in APART:
            continue
        now = value_of(have, setting)
        if setting == "Flags":
            now = value if value in now.split(",") else ""
        if setting == "AdminLevel" and "Administrator" not in (now, value):
            continue  # an Operator stays one
        if now != value:
            found.append((setting, now, value))
    return found


def value_of(have: Dict[str, str], setting: str) -> str:
    """A setting in the form of wanted rows: one TRES of many, seconds and minutes as a number, lists in order."""
    name, _, part = setting.partition(" ")
    value = have.get(name, "")
    if part:
        return dict(one.split("=", 1) for one in value.split(",") if "=" in one).get(part, "")
    if name in LISTS:
        return ",".join(sorted(filter(None, value.split(","))))
    if name == "GraceTime":
        return str(seconds_of(value))
    if name == "MaxWall":
        return str(seconds_of(value) // 60) if value else ""
    return value


def seconds_of(value: str) -> int:
    """`1-02:03:04`, or without the days."""
    days, _, clock = value.rpartition("-")
    hours, minutes, seconds = ([0, 0] + [int(part) for part in (clock or "0").split(":")])[-3:]
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def words_for(found: Iterable[Tuple[str, str, str]]) -> str:
    """`GrpTRES gres/gpu 8 -> 16`."""
    return ", ".join(f"{setting} {now or 'none'} -> {value or 'none'}" for setting, now, value in found)


def settings(found: Iterable[Tuple[str, str, str]]) -> List[str]:
    """The same as words of a command; what takes a limit away is -1, or nothing where it is a list."""
    made = []
    for setting, _now, value in found:
        name, _, part = setting.partition(" ")
        if part:
            made.append(f"{name}={part}={value or -1}")
        elif name == "Flags":
            made.append("Flags+=" + value)
        elif name == "QOS":
            made.append("QosLevel=" + value)
        elif name in LISTS:
            made.append(f"{name}={value}")
        else:
            made.append(f"{name}={value or -1}")
    return made


def gone(rows: List[Json], have: Rows, ours: Iterable[Key]) -> List[Key]:
    """What we made once and the file does not name now; members first, then teams, then qualities of service."""
    wanted = {key_of(row) for row in rows}
    order = ("user", "account", "qos")
    left = [key for key in ours if key in have and key not in wanted and key[0] in order]
    return sorted(left, key=lambda key: (order.index(key[0]), key))


def strangers(rows: List[Json], have: Rows, ours: Iterable[Key]) -> List[str]:
    """A note for each kind that somebody else made: it stays."""
    known = {key_of(row) for row in rows} | set(ours)
    notes = []
    for kind, words in (("account", "accounts"), ("user", "members"), ("qos", "qualities of service")):
        found = [key for key in sorted(have) if key[0] == kind and key not in known and key[1] not in OWN]
        if found:
            names = ", ".join(" of ".join(key[1:]) for key in found)
            notes.append(f"slurmdbd has {words} that the file does not name: {names}; left as they are")
    return notes


def in_use() -> List[Dict[str, str]]:
    """User, account and qos of each job that waits or runs; nothing can be told where squeue does not answer."""
    done = run(["squeue", "--noheader", "--format=%u|%a|%q"], 20)
    if done.code != 0:
        return [{"user": "*", "account": "*", "qos": "*"}]
    names = ("user", "account", "qos")
    return [dict(zip(names, line.split("|"))) for line in done.out.split()]


def jobs_of(key: Key, jobs: List[Dict[str, str]]) -> int:
    """How many jobs would end with the row."""
    wanted = {
        "user": {"user": key[1], "account": key[-1]},
        "account": {"account": key[1]},
        "qos": {"qos": key[1]},
    }
    rule = wanted[key[0]]
    return sum(all(job[name] in (value, "*") for name, value in rule.items()) for job in jobs)
