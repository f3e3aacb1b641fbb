"""Rows that a daemon keeps: looked at and changed by the daemon's own program, after the units.

Standard library only, Python 3.6 or later. What we made is remembered in a file of our own, so that a row that
leaves the cluster file is told from one that somebody made by hand.
"""

import json
from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.provision import account_changes, reservations
from clusterwright.onhost.provision.accounts import (
    Key,
    Rows,
    differences,
    gone,
    in_use,
    jobs_of,
    key_of,
    rows_of,
    strangers,
    told,
    words_for,
)
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, ChangeError, Host, Json, read
from clusterwright.onhost.provision.sacctmgr import READY_S, Asked, answers, ask, read_answers
from clusterwright.onhost.provision.storage import quotas
from clusterwright.onhost.provision.timings import step

MEMORY = STATE + "/records.json"


def begin(host: Host) -> Asked:
    """The questions under way while files and units are looked at; nothing where slurmdbd cannot be asked yet."""
    for resource in host.resources:
        if resource["kind"] == "records" and resource["name"] == "accounts":
            where = resource["rows"][0]
            try:
                return {} if answers(where["address"], where["port"], 0) else ask(where["cluster"])
            except OSError:  # sacctmgr comes with this apply
                return {}
    return {}


def look(host: Host, resource: Json, asked: Asked) -> List[Json]:
    """One change for each row that is not as wanted; one for all where the daemon cannot be asked yet."""
    if resource["name"] == "reservations":
        return reservations.look(host, resource["rows"], ours(host, "reservations"))
    if resource["name"] == "quotas":
        return quotas.look(resource["rows"])
    try:
        have = rows_of(found(host, asked)) if asked else None
    except (ChangeError, OSError):
        have = None  # the same call is made again when it has to work, and then its words are told
    rows = resource["rows"][1:]
    if have is None:
        # also without rows: a slurmctld that never ran ends where slurmdbd does not listen before it starts
        what = f"compare {len(rows)} rows with those of slurmdbd, which does not answer yet"
        return [new_change(what, Verb.COMPARE)]
    changes = [new_change(words, verb) for verb, words in differing(rows, have)]
    return changes + (leaving(host, rows, have) if resource["name"] == "accounts" else [])


def differing(rows: List[Json], have: Rows) -> List[Tuple[Verb, str]]:
    """Verb and text for each row that is missing or different; what a new member is comes with the membership."""
    said = []  # type: List[Tuple[Verb, str]]
    for row in rows:
        key = key_of(row)
        if key not in have:
            said += [] if key[0] == "person" else [(Verb.CREATE, "create " + told(key))]
        elif differences(row, have[key]):
            said.append((Verb.MODIFY, f"{told(key)}: {words_for(differences(row, have[key]))}"))
    return said


def found(host: Host, asked: Asked) -> Dict[str, Any]:
    """The answers, read once."""
    if not host.answers:
        host.answers.update(read_answers(asked))
    return host.answers


def leaving(host: Host, rows: List[Json], have: Rows) -> List[Json]:
    """What we made and the file does not name now; it waits for its jobs, which Slurm would end with it."""
    mine = ours(host, "accounts")
    host.notes += strangers(rows, have, mine)
    away = gone(rows, have, mine)
    jobs = in_use() if away else []
    changes = []
    for key in away:
        number = jobs_of(key, jobs)
        if number:
            host.notes.append(
                f"{told(key)} is not in the file; it has jobs ({number}), and stays until they end"
            )
        else:
            changes.append(new_change("remove " + told(key), Verb.REMOVE))
    return changes


def ours(host: Host, name: str) -> List[Key]:
    """What an earlier apply made."""
    kept = json.loads((read(host.at(MEMORY)) or b"{}").decode())
    return [tuple(key) for key in kept.get(name, [])]


def do_all(host: Host, due: List[Json], changes: List[Json]) -> Optional[ChangeError]:
    """The changes of these resources; the first failure is given back, and the others are made all the same."""
    failed = None
    for resource in due:
        try:
            with step(resource["id"]):
                do(host, resource, [change for change in changes if change["id"] == resource["id"]])
        except (ChangeError, OSError) as why:
            blame = why.blame if isinstance(why, ChangeError) else "host"
            failed = failed or ChangeError(f"{resource['id']}: {why}", blame)
    return failed


def do(host: Host, resource: Json, changes: List[Json]) -> None:
    """Make the changes; rows that could not be compared before are compared now."""
    if not changes:
        return
    rows = resource["rows"]
    if resource["name"] == "reservations":
        reservations.do(rows, ours(host, "reservations"))
    elif resource["name"] == "quotas":
        quotas.do(rows)
    else:
        where = rows[0]
        why = answers(where["address"], where["port"], READY_S)
        if why:
            raise ChangeError(
                f"slurmdbd on {where['name']} ({where['address']}:{where['port']}) does not answer: {why}. "
                "Teams, users and limits wait for it: see `journalctl -u slurmdbd -u mariadb` there, mend it, "
                "and apply again",
                "host",
            )
        away = []  # type: List[Key]
        if resource["name"] == "accounts":
            # slurmdbd tells a change once: a slurmctld that does not listen yet would never hear of it
            answers(where["controller"], where["controller_port"], READY_S)
        have = rows_of(read_answers(ask(where["cluster"])))
        if resource["name"] == "accounts":
            mine, jobs = ours(host, "accounts"), in_use()
            away = [key for key in gone(rows[1:], have, mine) if not jobs_of(key, jobs)]
        account_changes.make(where["cluster"], rows[1:], have, away)
        for one in changes:
            if Verb.COMPARE in one["verbs"]:
                one["diff"] = "\n".join("+" + words for _verb, words in differing(rows[1:], have))
    for one in changes:
        one["done"] = True


def remember(host: Host) -> None:
    """What is ours from now on: what the file names, and what it named and could not be removed yet."""
    kept = {}
    for resource in host.resources:
        if resource["kind"] == "records" and resource["name"] in ("accounts", "reservations"):
            rows = resource["rows"][1:] if resource["name"] == "accounts" else resource["rows"]
            named = [key_of(row) for row in rows if row["kind"] != "person"]
            away = [key for key in ours(host, resource["name"]) if key not in named]
            kept[resource["name"]] = [list(key) for key in named + away]
    text = json.dumps(kept).encode()
    if kept and read(host.at(MEMORY)) != text:
        write_private(host.at(MEMORY), text)
