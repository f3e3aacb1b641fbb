"""The sacctmgr calls that bring slurmdbd's rows to the desired state, in an order in which every name exists.

Standard library only, Python 3.6 or later.
"""

from typing import Dict, List, Tuple

from clusterwright.onhost.provision.accounts import NON_SETTING_KEYS, Key, Rows, differences, key_of, settings
from clusterwright.onhost.provision.host import Json
from clusterwright.onhost.provision.sacctmgr import change_all, load

Changed = List[Tuple[str, str, str]]


def make(cluster: str, rows: List[Json], have: Rows, obsolete_keys: List[Key]) -> None:
    """Change slurmdbd: add QOS, teams and members, modify settings that differ, then remove obsolete ones."""
    missing = [row for row in rows if key_of(row) not in have]
    change_all([new_qos(row) for row in missing if row["kind"] == "qos"])
    load(cluster, sections(missing, rows, have))
    changed = [(row, differences(row, have[key_of(row)])) for row in rows if key_of(row) in have]
    calls = [(row, modify(cluster, row, changes)) for row, changes in changed if changes]
    for row, argv in calls:
        if "Parent" in dict(moved(row, have)):
            change_all([argv])  # two concurrent moves of teams would wait for each other's lock
    change_all([argv for row, argv in calls if not moved(row, have)])
    for key in obsolete_keys:
        change_all([remove(cluster, key, have)])


def moved(row: Json, have: Rows) -> List[Tuple[str, str]]:
    """Return [("Parent", new parent)] if the desired state is a team that gets another parent; else an empty list."""
    changes = differences(row, have[key_of(row)])
    return [(setting, value) for setting, _now, value in changes if setting == "Parent"]


def initial_settings(row: Json) -> Changed:
    """Return the settings of a desired QOS, team or membership that have a value, to set when it is created."""
    return [
        (setting, "", value) for setting, value in row.items() if setting not in NON_SETTING_KEYS and value
    ]


def new_qos(row: Json) -> List[str]:
    """Return the sacctmgr arguments that add a QOS with its settings."""
    options = [option.replace("Flags+=", "Flags=") for option in settings(initial_settings(row))]
    return ["add", "qos", row["name"], *options]


def modify(cluster: str, row: Json, changes: Changed) -> List[str]:
    """Return the sacctmgr arguments that modify all differing settings of a QOS, team or membership."""
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
    """Return the sacctmgr arguments that delete the team, QOS or membership of the key.

    A user's last membership in `have` is deleted with the user.
    """
    if key[0] != "user":
        return ["delete", key[0], "where", "name=" + key[1]]
    other_memberships = [
        entry for entry in have if entry[0] == "user" and entry[1] == key[1] and entry != key
    ]
    team = ["account=" + key[2], "cluster=" + cluster] if other_memberships else []
    return ["delete", "user", "where", "name=" + key[1], *team]


def sections(missing: List[Json], rows: List[Json], have: Rows) -> List[Tuple[str, List[str]]]:
    """Return (account, lines) for the file of `sacctmgr load`, which adds what is `missing` in slurmdbd; parents first.

    New teams are below their parent, new members in their team.
    """
    people = {row["name"]: row for row in rows if row["kind"] == "person" and key_of(row) not in have}
    lines_by_parent: Dict[str, List[str]] = {}
    for row in missing:
        if row["kind"] == "account":
            options = settings(
                [change for change in initial_settings(row) if change[0] not in ("Parent", "QOS")]
            )
            options += [f"QOS='{row['QOS']}'"] if "QOS" in row else []
            lines_by_parent.setdefault(row.get("Parent", "root"), []).append(
                line("Account", row["name"], options)
            )
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
    """Return a line for the file of `sacctmgr load`, such as `Account - 'vision':Fairshare=60`."""
    return f"{kind} - '{name}':" + ":".join(options)
