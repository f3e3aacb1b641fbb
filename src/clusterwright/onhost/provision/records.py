"""Records of a daemon (accounts, reservations, quotas): compared and changed by its own program, after the units.

Standard library only, Python 3.6 or later. A file on the host lists the records that applies made, so that a record
that leaves the cluster file differs from one that somebody made by hand.
"""

from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.provision import account_changes, reservations
from clusterwright.onhost.provision.accounts import (
    Key,
    Rows,
    describe_changes,
    describe_key,
    differences,
    find_obsolete,
    in_use,
    jobs_of,
    key_of,
    rows_of,
    strangers,
)
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, ChangeError, Json, LocalHost, read
from clusterwright.onhost.provision.sacctmgr import READY_S, Queries, answers, read_answers, start_queries
from clusterwright.onhost.provision.state_files import RECORDS
from clusterwright.onhost.provision.storage import quotas
from clusterwright.onhost.provision.timings import step

MEMORY = STATE + "/records.json"


def begin(host: LocalHost) -> Queries:
    """Start sacctmgr's queries in the background; return {} without accounting or if slurmdbd does not respond yet."""
    for resource in host.resources:
        if resource["kind"] == "records" and resource["name"] == "accounts":
            server = resource["rows"][0]
            try:
                return (
                    {}
                    if answers(server["address"], server["port"], 0)
                    else start_queries(server["cluster"], resource["rows"])
                )
            except OSError:  # this apply installs sacctmgr
                return {}
    return {}


def plan_rows(host: LocalHost, resource: Json, queries: Queries) -> List[Json]:
    """Return one change for each account, reservation or quota that differs from its daemon's.

    If the daemon does not respond yet, one change for all of them; they are compared when it does.
    """
    if resource["name"] == "reservations":
        return reservations.plan_rows(host, resource["rows"], ours(host, "reservations"))
    if resource["name"] == "quotas":
        return quotas.plan_rows(resource["rows"])
    try:
        have = rows_of(cached_answers(host, queries)) if queries else None
    except (ChangeError, OSError):
        have = None  # `do` repeats the call and reports its error
    rows = resource["rows"][1:]
    if have is None:
        # also if there are no rows: the first start of slurmctld fails unless slurmdbd listens
        description = f"compare with slurmdbd, which does not respond yet (rows: {len(rows)})"
        return [new_change(description, Verb.COMPARE)]
    changes = [new_change(text, verb) for verb, text in differing(rows, have)]
    return changes + (leaving(host, rows, have) if resource["name"] == "accounts" else [])


def differing(rows: List[Json], have: Rows) -> List[Tuple[Verb, str]]:
    """Return verb and text for each desired QOS, team or membership that is missing or differs.

    A new user itself is not listed: the membership creates the user.
    """
    descriptions = []  # type: List[Tuple[Verb, str]]
    for row in rows:
        key = key_of(row)
        if key not in have:
            descriptions += [] if key[0] == "person" else [(Verb.CREATE, "create " + describe_key(key))]
        elif differences(row, have[key]):
            descriptions.append(
                (Verb.MODIFY, f"{describe_key(key)}: {describe_changes(differences(row, have[key]))}")
            )
    return descriptions


def cached_answers(host: LocalHost, queries: Queries) -> Dict[str, Any]:
    """Return the answers of sacctmgr's queries, which are read once per plan."""
    if not host.answers:
        host.answers.update(read_answers(queries))
    return host.answers


def leaving(host: LocalHost, rows: List[Json], have: Rows) -> List[Json]:
    """Return the changes that remove our records that left the cluster file.

    Records with jobs stay, with a note, because Slurm would end the jobs.
    """
    managed_keys = ours(host, "accounts")
    host.notes += strangers(rows, have, managed_keys)
    obsolete_keys = find_obsolete(rows, have, managed_keys)
    jobs = in_use() if obsolete_keys else []
    changes = []
    for key in obsolete_keys:
        number = jobs_of(key, jobs)
        if number:
            host.notes.append(
                f"{describe_key(key)} is not in the cluster file, but has jobs ({number}): not removed until they end"
            )
        else:
            changes.append(new_change("remove " + describe_key(key), Verb.REMOVE))
    return changes


def ours(host: LocalHost, name: str) -> List[Key]:
    """Return the keys of the records of one resource (accounts, reservations) that earlier applies made."""
    stored_keys = host.load(RECORDS, MEMORY, "records that left the cluster file are not removed")
    return [tuple(key) for key in stored_keys.get(name, [])]


def do_all(host: LocalHost, due: List[Json], changes: List[Json]) -> Optional[ChangeError]:
    """Make the changes of all due resources, even after a failure; return the first failure, None without."""
    failed = None
    for resource in due:
        try:
            with step(resource["id"]):
                do(host, resource, [change for change in changes if change["id"] == resource["id"]])
        except (ChangeError, OSError) as error:
            fault_domain = error.fault_domain if isinstance(error, ChangeError) else "host"
            failed = failed or ChangeError(f"{resource['id']}: {error}", fault_domain)
    return failed


def do(host: LocalHost, resource: Json, changes: List[Json]) -> None:
    """Make the changes of one resource (accounts, reservations, quotas); nothing if none are planned.

    Rows that the plan could not compare are compared now.

    Raises:
        ChangeError: the daemon does not respond or rejects a change.
    """
    if not changes:
        return
    rows = resource["rows"]
    if resource["name"] == "reservations":
        reservations.do(rows, ours(host, "reservations"))
    elif resource["name"] == "quotas":
        quotas.do(rows)
    else:
        server = rows[0]
        reason = answers(server["address"], server["port"], READY_S)
        if reason:
            raise ChangeError(
                f"slurmdbd on {server['name']} ({server['address']}:{server['port']}) does not respond: {reason}. "
                "Teams, users and limits are not set. Read `journalctl -u slurmdbd -u mariadb` on that host, fix the "
                "cause, and run apply again",
                "host",
            )
        obsolete_keys = []  # type: List[Key]
        if resource["name"] == "accounts":
            # slurmdbd sends a change to slurmctld once: one that does not listen yet would miss it
            answers(server["controller"], server["controller_port"], READY_S)
        have = rows_of(read_answers(start_queries(server["cluster"], rows)))
        if resource["name"] == "accounts":
            managed_keys, jobs = ours(host, "accounts"), in_use()
            obsolete_keys = [
                key for key in find_obsolete(rows[1:], have, managed_keys) if not jobs_of(key, jobs)
            ]
        account_changes.make(server["cluster"], rows[1:], have, obsolete_keys)
        for change in changes:
            if Verb.COMPARE in change["verbs"]:
                change["diff"] = "\n".join("+" + text for _verb, text in differing(rows[1:], have))
    for change in changes:
        change["applied"] = True


def remember(host: LocalHost) -> None:
    """Store which accounts and reservations are ours: those of the cluster file, and earlier ones not removed yet."""
    stored_keys = {}
    for resource in host.resources:
        if resource["kind"] == "records" and resource["name"] in ("accounts", "reservations"):
            rows = resource["rows"][1:] if resource["name"] == "accounts" else resource["rows"]
            named = [key_of(row) for row in rows if row["kind"] != "person"]
            pending_keys = [key for key in ours(host, resource["name"]) if key not in named]
            stored_keys[resource["name"]] = [list(key) for key in named + pending_keys]
    text = RECORDS.dump(stored_keys).encode()
    if stored_keys and read(host.resolve_path(MEMORY)) != text:
        write_private(host.resolve_path(MEMORY), text)
