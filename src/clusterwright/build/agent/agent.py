"""What runs on a host: compares it with what is wanted (`check`), and makes it so (`apply`).

Standard library only, Python 3.6 or later; sent over ssh with the modules beside it and a bundle, never
installed. In: a JSON object {mode, root, source, when, expect, resources}. Out: one line, ANSWER and a JSON
object. Every change is written to a journal before it is made, so that an apply that was cut short is seen,
and what it owed (restarts above all) is done by the next one.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
import time
import zlib
from typing import IO, Container, List, Optional

from clusterwright.build.agent import drift, files, packages, records, system, units
from clusterwright.build.agent.host import STATE, ChangeError, Host, Json, read

ANSWER = "clusterwright-answer:"
KEPT_UNDO = 10  # applies whose previous files are kept: a choice, well under a megabyte each

LOOK = {
    "file": files.look_file,
    "directory": files.look_directory,
    "symlink": files.look_symlink,
    "group": system.look_group,
    "user": system.look_user,
    "sysctl": system.look_sysctl,
    "module": system.look_module,
    "hold": packages.look_hold,
}
DO = {
    "file": files.do_file,
    "directory": files.do_directory,
    "symlink": files.do_symlink,
    "group": system.do_group,
    "user": system.do_user,
    "sysctl": system.do_sysctl,
    "module": system.do_module,
    "hold": packages.do_hold,
}


def plan(host: Host) -> List[Json]:
    """Every change, in the order in which it is made: packages, resources, what is gone, units, records."""
    early = [resource for resource in of_kinds(host, ("file",)) if resource["early"]]
    changes = looked(host, early) + packages.look_packages(host)
    changes += looked(host, [resource for resource in of_kinds(host, LOOK) if resource not in early])
    changes += system.gone_users(host) + gone_units(host) + gone_files(host)
    changes += unit_changes(host, changes)
    for resource in of_kinds(host, ("records",)):
        changes += [dict(change, id=resource["id"]) for change in records.look(resource)]
    now = drift.digests(host)
    return [dict(change, drift=drift.cause(host, change, now)) for change in changes]


def of_kinds(host: Host, kinds: Container[str]) -> List[Json]:
    """The resources of these kinds, in the order given."""
    return [resource for resource in host.resources if resource["kind"] in kinds]


def live(name: str, what: str) -> Json:
    """A change without a diff that costs running jobs nothing."""
    return {"id": name, "what": what, "diff": "", "cost": "live"}


def looked(host: Host, resources: List[Json]) -> List[Json]:
    """The changes that these resources need, in their order."""
    rows = [(resource["id"], look(host, resource)) for resource in resources]
    return [dict(change, id=name) for name, change in rows if change]


def look(host: Host, resource: Json) -> Optional[Json]:
    """The change that the resource needs, if any; a failure says whose it is."""
    try:
        return LOOK[resource["kind"]](host, resource)
    except (ChangeError, OSError) as why:
        raise ChangeError(f"{resource['id']}: {why}") from why


def unit_changes(host: Host, before: List[Json]) -> List[Json]:
    """The unit files read again where systemd has old ones, then each unit that wants something."""
    changed = {change["id"] for change in before} | host.owed
    gentle = {change["id"] for change in before if change["cost"] == "reconfigure"} - host.owed
    wanted = of_kinds(host, ("unit",))
    others = [name for unit in wanted for name in unit.get("replaces", ())]
    states = units.show([unit["name"] for unit in wanted] + others)
    unread = any(state.get("NeedDaemonReload") == "yes" for state in states.values())
    unread = unread or any(name.startswith("gone:/etc/systemd/system/") for name in changed)
    changes = [live("systemd", "read the unit files again")] if unread else []
    for unit in wanted:
        change = units.look_unit(unit, states[unit["name"]], changed, gentle, units.replaced(unit, states))
        if change:
            changes.append(dict(change, id=unit["id"]))
    return changes


def gone_units(host: Host) -> List[Json]:
    """Units that an earlier apply started and nobody wants now; what another replaces waits for that one."""
    wanted = {
        name for unit in of_kinds(host, ("unit",)) for name in (unit["name"], *unit.get("replaces", ()))
    }
    gone = [name for name in host.receipt["units"] if name not in wanted and units.is_loaded(name)]
    return [dict(live("gone-unit:" + name, "stop, disable"), cost="restart") for name in gone]


def gone_files(host: Host) -> List[Json]:
    """Files that an earlier apply wrote and nobody wants now; one that was edited since is left alone."""
    wanted = {file["path"] for file in of_kinds(host, ("file",))}
    changes = []
    for path, row in sorted(host.receipt["files"].items()):
        content = read(host.at(path))
        if path in wanted or content is None:
            continue
        if hashlib.sha256(content).hexdigest() == row["sha256"]:
            changes.append(live("gone:" + path, "remove"))
        else:
            host.notes.append(f"{path} is wanted no more, but was edited since: left as it is")
    return changes


def apply(host: Host, changes: List[Json]) -> None:
    """Make the changes, each one journalled before it is made; stops at the first that fails."""
    if not changes:
        return
    late = [change for change in changes if change["id"].startswith("records:")]
    ours = [
        change for change in changes if change["id"].partition(":")[0] not in ("systemd", "unit", "records")
    ]
    trials = of_kinds(host, ("trial",))
    with open(host.at(STATE + "/journal.jsonl"), "a") as journal:
        note(journal, {"begin": host.bundle["when"], "from": host.bundle["source"]})
        for change in ours:
            note(journal, {"doing": change["id"]})
            try:
                for trial in [one for one in trials if change["id"] in one["files"]]:
                    trials.remove(trial)
                    files.try_out(host, trial)
                make(host, change)
            except (ChangeError, OSError) as why:
                raise ChangeError(f"{change['id']}: {why}") from why
            change["done"] = True
    rest = [change for change in changes if not change.get("done") and change not in late]
    named = [(change["id"].partition(":")[2], change["what"]) for change in rest if change["id"] != "systemd"]
    units.do_units(named, read_again=len(named) < len(rest))
    for change in rest:
        change["done"] = True
    for resource in of_kinds(host, ("records",)):
        records.do(resource, [change for change in late if change["id"] == resource["id"]])


def make(host: Host, change: Json) -> None:
    """One change; the first missing package brings all of them, in one call."""
    kind, _, name = change["id"].partition(":")
    if kind == "package":
        packages.install_packages(host)
    elif kind == "gone-user":
        system.lock_user(name)
    elif kind == "gone-unit":
        units.stop_unit(name)
    elif kind == "gone":
        files.keep_for_undo(host, name)
        os.unlink(host.at(name))
    else:
        DO[kind](host, next(resource for resource in host.resources if resource["id"] == change["id"]))


def note(journal: "IO[str]", entry: Json) -> None:
    """One line of the journal, on disk before the change that it tells of."""
    journal.write(json.dumps(entry) + "\n")
    journal.flush()
    os.fsync(journal.fileno())


def write_receipt(host: Host, changes: List[Json]) -> None:
    """What we keep on this host, so that drift is seen and what is gone can be removed; the journal ends."""
    wanted = {file["path"]: file for file in of_kinds(host, ("file",))}
    rows = {path: files.receipt_row(file) for path, file in wanted.items()}
    others = {path: row for path, row in host.receipt["files"].items() if path not in wanted}
    rows.update({path: row for path, row in others.items() if read(host.at(path)) is not None})
    names = [unit["name"] for unit in of_kinds(host, ("unit",))]
    was_wanted = drift.digests(host)
    kept = [host.receipt.get(key) for key in ("files", "units", "wanted")]
    if changes or kept != [rows, names, was_wanted]:
        receipt = {
            "source": host.bundle["source"],
            "when": host.bundle["when"],
            "files": rows,
            "units": names,
            "wanted": was_wanted,
        }
        files.write_private(host.at(STATE + "/receipt.json"), json.dumps(receipt, indent=1).encode())
    if host.interrupted or changes:
        os.unlink(host.at(STATE + "/journal.jsonl"))
    undo = host.at(STATE + "/undo")
    for old in sorted(os.listdir(undo))[:-KEPT_UNDO]:
        shutil.rmtree(os.path.join(undo, old))


def facts(host: Host) -> Json:
    """What the one who applies should know of this host."""
    processes = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    names = [(read(f"/proc/{entry}/comm") or b"").strip() for entry in processes]
    return {
        "hostname": platform.node(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "reached_at": (os.environ.get("SSH_CONNECTION", "").split() + [""] * 4)[2],
        "job_steps": names.count(b"slurmstepd"),
        "interrupted": host.interrupted,
    }


def sum_of(changes: List[Json]) -> str:
    """One word for a plan, so that an apply does what was shown or nothing."""
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()


def act(bundle: Json) -> Json:
    """Check, or check and apply; a failure is an answer too."""
    host = Host(bundle)
    answer = {"facts": facts(host), "changes": [], "notes": host.notes, "error": "", "stale": False}  # type: Json
    try:
        lock = locked(host) if bundle["mode"] == "apply" else None
        answer["changes"] = plan(host)
        answer["sum"] = sum_of(answer["changes"])
        answer["stale"] = bundle["expect"] not in ("", answer["sum"])
        if lock is not None and not answer["stale"]:
            apply(host, answer["changes"])
            write_receipt(host, answer["changes"])
            os.close(lock)
    except (ChangeError, OSError) as why:
        answer["error"] = str(why)
    return answer


def locked(host: Host) -> int:
    """The lock that keeps two applies apart; it goes with the process, however that ends."""
    os.makedirs(host.at(STATE + "/undo"), exist_ok=True)
    os.chmod(host.at(STATE + "/undo"), 0o700)
    handle = os.open(host.at(STATE + "/lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        who = os.read(handle, 200).decode()
        os.close(handle)
        raise ChangeError(f"another apply is at work here ({who}); wait for it") from None
    os.ftruncate(handle, 0)
    os.write(handle, f"process {os.getpid()} since {time.strftime('%H:%M:%S')}".encode())
    return handle


def main() -> None:
    """The bundle comes on stdin, compressed; the answer goes to stdout on a line of its own."""
    os.umask(0o022)
    bundle = json.loads(zlib.decompress(sys.stdin.buffer.read()).decode())
    sys.stdout.write(f"\n{ANSWER}{json.dumps(act(bundle))}\n")
