"""Rolls back an apply and all later ones: restores files byte for byte and restarts the units that read them.

Standard library only, Python 3.6 or later. What stays is reported. A rollback saves what it changes, as an apply
does, so it can be undone as well.
"""

import errno
import os
from typing import List, Optional, Set

from clusterwright.onhost.provision import files, undo, units
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.disk import state_of
from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, read, text_of
from clusterwright.onhost.provision.plan import READ_UNIT_FILES, unit_changes

PATHS = ("file", "directory", "symlink")


def plan(host: LocalHost) -> List[Json]:
    """Return the changes of a rollback to before the apply `to`, in order.

    Stops of units that were off, paths and settings (last change first), then restarts of the units that read them.
    """
    rows = undo.undo_rows(host, host.bundle["to"])
    going = {row["id"].partition(":")[2] for row in rows if row["before"].get("kind") == "none"}
    ours = {row["id"].partition(":")[2]: row["before"] for row in rows if row["id"].startswith("unit:")}
    changes = stops(ours)
    for row in reversed(rows):
        change = plan_restore(host, row, going)
        if change:
            changes.append(dict(change, id=row["id"]))
    if any(change["id"].startswith("file:/etc/systemd/system/") for change in changes):
        changes.append(READ_UNIT_FILES)
    changes += readers(host, ours, changes)
    stay = [row["id"] for row in rows if row["id"].partition(":")[0] in undo.STAYS]
    if stay:
        host.notes.append(f"not rolled back: {', '.join(stay)}")
    if len(undo.whens(host)) >= undo.MAX_UNDO and host.bundle["to"] < undo.whens(host)[0]:
        host.notes.append(
            f"only the last {undo.MAX_UNDO} applies are stored: the rollback goes back to {undo.whens(host)[0]}"
        )
    return [dict(change, drift="follows") for change in changes]


def stops(ours: Json) -> List[Json]:
    """Return the changes that stop or disable units that were not active or enabled before (their states: `ours`)."""
    states = units.show(list(ours))
    changes = []
    for name, state in states.items():
        stop = state.get("ActiveState") == "active" and not ours[name]["active"]
        disable = state.get("UnitFileState", "").startswith("enabled") and not ours[name]["enabled"]
        verbs = [Verb.STOP] * stop + [Verb.DISABLE] * disable
        if verbs:
            description = ", ".join(verb.value for verb in verbs)
            change = new_change(description, *verbs, cost="restart" if stop else "live")
            changes.append(dict(change, id="gone-unit:" + name))
    return changes


def plan_restore(host: LocalHost, row: Json, going: Set[str]) -> Optional[Json]:
    """Return the change that restores one saved state (`row`); None if the host has it, or nothing saved it.

    `going` are the paths that the rollback removes. A folder among them stays, with a note, if it contains files that
    no apply made.
    """
    kind, _, name = row["id"].partition(":")
    if kind == "directory" and name in going and not empties(host, name, going):
        host.notes.append(f"{name} is not removed: it holds files that no apply made")
        return None
    if kind in PATHS:
        return plan_path_restore(host, row, name)
    if kind == "sysctl":
        now = " ".join(
            (read(host.resolve_path("/proc/sys/" + name.replace(".", "/"))) or b"").decode().split()
        )
        if now != row["before"]["value"]:
            return new_change(f"{now or 'empty'} -> {row['before']['value']}", Verb.SET)
    return None


def empties(host: LocalHost, path: str, going: Set[str]) -> bool:
    """Return True if the folder becomes empty: all it contains is in `going`, the paths that the rollback removes."""
    if not os.path.isdir(host.resolve_path(path)):
        return True
    inside = [f"{path.rstrip('/')}/{entry}" for entry in os.listdir(host.resolve_path(path))]
    return all(child in going and empties(host, child, going) for child in inside)


def plan_path_restore(host: LocalHost, row: Json, path: str) -> Optional[Json]:
    """Return a change if a path's kind, content, owner or mode differs from the saved state; else None.

    None also if the path had another kind than file, folder or link: such a state is not restored.
    """
    saved_state, now = row["before"], state_of(host.resolve_path(path))
    if now == saved_state or saved_state["kind"] == "other":
        return None
    if saved_state["kind"] == "none":
        return new_change("remove", Verb.REMOVE)
    if saved_state["kind"] != "file":
        return new_change("restore", Verb.RESTORE)
    old = b"" if now["kind"] != "file" else read(host.resolve_path(path)) or b""
    new = content(host, row)
    if now["kind"] == "file" and old == new:
        return new_change("restore owner and mode", Verb.SET_RIGHTS)
    diff = f"(secret {row['secret']}: not shown)" if row.get("secret") else files.diff_of(path, old, new)
    gentle = files.is_gentle(row.get("gentle", ""), old, new)
    if now["kind"] != "file":
        return new_change("restore", Verb.RESTORE, diff=diff)
    cost = "reconfigure" if gentle else row.get("cost", "live")
    return new_change("restore content", Verb.REWRITE, diff=diff, cost=cost)


def content(host: LocalHost, row: Json) -> bytes:
    """Return the saved content of a file; raise ChangeError if its checksum differs from the recorded one."""
    path = row["id"].partition(":")[2]
    backup_path = host.resolve_path(f"{undo.FOLDER}/{row['when']}/files{path}")
    if state_of(backup_path).get("sha256") != row["before"]["sha256"]:
        raise ChangeError(
            f"{backup_path} differs from the file that was saved: it cannot be restored", fault_domain="host"
        )
    return read(backup_path) or b""


def readers(host: LocalHost, ours: Json, changes: List[Json]) -> List[Json]:
    """Return the changes of units that read the changed files, by the present receipt and the one before the apply.

    A receipt is the record of an apply; a unit that did not run before is not started.
    """
    reader_units = dict(host.receipt.get("readers", {}))
    reader_units.update(undo.receipt_before(host, host.bundle["to"]).get("readers", {}))
    off = {change["id"].partition(":")[2] for change in changes if Verb.STOP in change["verbs"]}
    states = units.show(list({**reader_units, **ours}))
    loaded = [name for name, state in states.items() if state.get("LoadState") == "loaded" or name in ours]
    names = [name for name in loaded if name not in off]
    idle = {"restart_on": [], "reload": False}  # type: Json
    desired_units = [dict(reader_units.get(name, idle), name=name, id="unit:" + name) for name in names]
    unit_rows = []
    for change in unit_changes(host, desired_units, changes):
        if change == READ_UNIT_FILES:
            unit_rows += [] if change in changes else [change]
            continue
        saved_state = ours.get(change["id"].partition(":")[2], {})
        allowed = {Verb.ENABLE: saved_state.get("enabled"), Verb.START: saved_state.get("active")}
        verbs = [verb for verb in change["verbs"] if allowed.get(verb, True)]
        if verbs:
            row = units.unit_change(verbs, change["inputs"], change["replaces"], change["cost"])
            unit_rows.append(dict(row, id=change["id"]))
    return unit_rows


def make(host: LocalHost, change: Json) -> None:
    """Make one change of the rollback: stop a unit, or restore a sysctl value or a file."""
    kind, _, name = change["id"].partition(":")
    if kind == "gone-unit":
        units.stop_unit(name, change["verbs"])
        return
    row = next(row for row in undo.undo_rows(host, host.bundle["to"]) if row["id"] == change["id"])
    if kind == "sysctl":
        with open(host.resolve_path("/proc/sys/" + name.replace(".", "/")), "w") as file:
            file.write(row["before"]["value"])
    else:
        restore_path(host, row, name)


def restore_path(host: LocalHost, row: Json, path: str) -> None:
    """Restore the saved state of a path: none (remove it), a folder, a link or a file."""
    saved_state, target = row["before"], host.resolve_path(path)
    if saved_state["kind"] == "none":
        remove(host, path)
    elif saved_state["kind"] == "directory":
        os.makedirs(target, exist_ok=True)
        os.chown(target, saved_state["uid"], saved_state["gid"])
        os.chmod(target, saved_state["mode"])
    elif saved_state["kind"] == "link":
        files.do_symlink(host, {"path": path, "target": saved_state["target"]})
    else:
        data = text_of(content(host, row))
        rights = {"owner": saved_state["uid"], "group": saved_state["gid"], "mode": saved_state["mode"]}
        files.do_file(host, dict(rights, path=path, content=data, validate=[]))


def remove(host: LocalHost, path: str) -> None:
    """Remove the path if it exists; a folder with other content, or a mount, stays, with a note."""
    target = host.resolve_path(path)
    if not os.path.isdir(target) or os.path.islink(target):
        if os.path.lexists(target):
            os.unlink(target)
        return
    try:
        os.rmdir(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EBUSY, errno.EEXIST):
            raise
        host.notes.append(f"{path} is not removed: it is not empty")
