"""The calls of sacctmgr that make rows as wanted, in an order that keeps every name known.

Standard library only, Python 3.6 or later.
"""

from typing import Dict, List, Tuple

from clusterwright.onhost.provision.accounts import NON_SETTING_KEYS, Key, Rows, differences, key_of, settings
from clusterwright.onhost.provision.host import Json
from clusterwright.onhost.provision.sacctmgr import change_all, load

Changed = List[Tuple[str, str, str]]


def make(cluster: str, rows: List[Json], have: Rows, obsolete_keys: List[Key]) -> None:
    """Qualities of service, new teams and members, changed settings, and last what goes."""
    missing = [row for row in rows if key_of(row) not in have]
    change_all([new_qos(row) for row in missing if row["kind"] == "qos"])
    load(cluster, sections(missing, rows, have))
    changed = [(row, differences(row, have[key_of(row)])) for row in rows if key_of(row) in have]
    calls = [(row, modify(cluster, row, changes)) for row, changes in changed if changes]
    for row, argv in calls:
        if "Parent" in dict(moved(row, have)):
            change_all([argv])  # two teams that move at once would wait for each other's lock
    change_all([argv for row, argv in calls if not moved(row, have)])
    for key in obsolete_keys:
        change_all([remove(cluster, key, have)])


def moved(row: Json, have: Rows) -> List[Tuple[str, str]]:
    """The new parent of a team that gets another one."""
    changes = differences(row, have[key_of(row)])
    return [(setting, value) for setting, _now, value in changes if setting == "Parent"]


def initial_settings(row: Json) -> Changed:
    """All settings of a new row that have a value."""
    return [
        (setting, "", value) for setting, value in row.items() if setting not in NON_SETTING_KEYS and value
    ]


def new_qos(row: Json) -> List[str]:
    """With all that it has."""
    options = [option.replace("Flags+=", "Flags=") for option in settings(initial_settings(row))]
    return ["add", "qos", row["name"], *options]


def modify(cluster: str, row: Json, changes: Changed) -> List[str]:
    """One call for all settings of a row that differ."""
    selectors = {
        "qos": ["qos", "where", "name=" + row["name"]],
        "account": ["account", "where", "name=" + row["name"], "cluster=" + cluster],
        "user": [
            "user",
            "where",
            "name=" + row["name"],
            "account=" + row.get("account", ""),
            "cluster=" + cluster,
        ],
        "person": ["user", "where", "name=" + row["name"]],
    }
    return ["modify", *selectors[row["kind"]], "set", *settings(changes)]


def remove(cluster: str, key: Key, have: Rows) -> List[str]:
    """A member of no other team goes as a user too."""
    if key[0] != "user":
        return ["delete", key[0], "where", "name=" + key[1]]
    other_memberships = [
        entry for entry in have if entry[0] == "user" and entry[1] == key[1] and entry != key
    ]
    team = ["account=" + key[2], "cluster=" + cluster] if other_memberships else []
    return ["delete", "user", "where", "name=" + key[1], *team]


def sections(missing: List[Json], rows: List[Json], have: Rows) -> List[Tuple[str, List[str]]]:
    """New teams by parent and new members by team, as the lines of `sacctmgr load`; a parent comes first."""
    people = {row["name"]: row for row in rows if row["kind"] == "person" and key_of(row) not in have}
    lines_by_parent: Dict[str, List[str]] = {}
    for row in missing:
        if row["kind"] == "account":
            options = settings(
                [change for change in initial_settings(row) if change[0] not in ("Parent", "QOS")]
            )
            options += [f"QOS='{row['QOS']}'"]
            lines_by_parent.setdefault(row["Parent"], []).append(line("Account", row["name"], options))
    for row in missing:
        if row["kind"] == "user":
            person = people.get(row["name"], {})
            options = [
                f"{name}='{person[name]}'" for name in ("DefaultAccount", "AdminLevel") if name in person
            ]
            options = [option for option in options if option != "AdminLevel='None'"]
            lines_by_parent.setdefault(row["account"], []).append(
                line("User", row["name"], options + settings(initial_settings(row)))
            )
    return list(lines_by_parent.items())


def line(kind: str, name: str, options: List[str]) -> str:
    """`Account - 'vision':Fairshare=60`."""
    return f"{kind} - '{name}':" + ":".join(options)
