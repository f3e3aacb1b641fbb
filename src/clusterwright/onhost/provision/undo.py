"""Saves the previous state of what an apply changes, so that a rollback can restore it.

Standard library only, Python 3.6 or later. Below undo/WHEN, readable by root only:

    apply.json     the cluster file of the apply, and the receipt before it
    before.jsonl   one line for each changed resource, on disk before the change
    files/PATH     a file's previous content
"""

import json
import os
from typing import List, Optional

from clusterwright.onhost.lib.files import sync_folder
from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.onhost.provision.disk import state_of, sync_disk, write_private
from clusterwright.onhost.provision.host import STATE, Json, LocalHost, read
from clusterwright.onhost.provision.state_files import UNDO

FOLDER = STATE + "/undo"
MAX_UNDO = 10  # applies that can be undone: our choice, well under 1 MB each
# Kinds that no rollback removes
STAYS = ("package", "hold", "group", "user", "gone-user", "module", "disks", "records")


def begin(host: LocalHost) -> None:
    """Create the folder in which this apply saves states for a rollback; a second call continues the first.

    Store what was saved already in `host.saved_ids`.
    """
    folder = host.resolve_path(f"{FOLDER}/{host.bundle['when']}")
    os.makedirs(folder + "/files", exist_ok=True)
    if not os.path.exists(folder + "/apply.json"):
        about = {key: host.bundle.get(key, "") for key in ("when", "source", "to")}
        write_private(folder + "/apply.json", UNDO.dump(dict(about, receipt=host.receipt)).encode())
    host.saved_ids = {row["id"] for row in rows_of(host, host.bundle["when"])}


def save_change(host: LocalHost, change: Json, resource: Optional[Json]) -> None:
    """Save the present state of the file, folder, link or sysctl that the change affects, for a rollback.

    Of kinds in STAYS, which a rollback does not restore, only the summary is saved.
    """
    kind, _, name = change["id"].partition(":")
    if kind in ("file", "gone"):
        save_path(host, "file:" + name, resource or host.receipt["files"].get(name, {}))
    elif kind in ("directory", "symlink"):
        save_path(host, change["id"], {})
    elif kind == "sysctl":
        value = read(host.resolve_path("/proc/sys/" + name.replace(".", "/")))
        save_row(host, {"id": change["id"], "before": {"value": " ".join((value or b"").decode().split())}})
    elif kind in STAYS:
        save_row(host, {"id": change["id"], "before": {}, "summary": change["summary"]})


def save_path(host: LocalHost, name: str, resource: Json) -> None:
    """Save the state and content of the path of `name` (KIND:PATH), and which parent folders did not exist."""
    path = name.partition(":")[2]
    above = os.path.dirname(path)
    parent = "directory:" + above
    if above != path and parent not in host.saved_ids and not os.path.isdir(host.resolve_path(above)):
        save_path(host, parent, {})
    if name in host.saved_ids:
        return
    saved_state = state_of(host.resolve_path(path))
    if saved_state["kind"] == "file":
        import shutil

        copy = host.resolve_path(f"{FOLDER}/{host.bundle['when']}/files{path}")
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(host.resolve_path(path), copy)
        os.chmod(copy, 0o600)
    row = {key: resource[key] for key in ("secret", "gentle", "cost") if resource.get(key)}
    save_row(host, dict(row, id=name, before=saved_state))


def save_units(host: LocalHost, states: Json) -> None:
    """Save for each unit whether it is active and enabled before the apply changes it."""
    for name, state in states.items():
        saved_state = {
            "active": state.get("ActiveState") == "active",
            "enabled": state.get("UnitFileState", "").startswith("enabled"),
        }
        save_row(host, {"id": "unit:" + name, "before": saved_state})


def save_row(host: LocalHost, row: Json) -> None:
    """Queue one row of before.jsonl, which `settle` writes; ignored if this apply has saved that id before.

    The first saved state is the one to restore.
    """
    if row["id"] in host.saved_ids:
        return
    host.unwritten.append(json.dumps(row) + "\n")
    host.saved_ids.add(row["id"])


def settle(host: LocalHost) -> None:
    """Write the rows that `save_row` queued to before.jsonl and sync them to disk."""
    if host.unwritten:
        with open(host.resolve_path(f"{FOLDER}/{host.bundle['when']}/before.jsonl"), "a") as file:
            file.writelines(host.unwritten)
        host.unwritten.clear()
        sync_disk(host.resolve_path(FOLDER))


def whens(host: LocalHost) -> List[str]:
    """Return the names of the stored applies, oldest first; none before the first apply."""
    try:
        return sorted(os.listdir(host.resolve_path(FOLDER)))
    except FileNotFoundError:
        return []


def about_apply(host: LocalHost, when: str) -> Json:
    """Return apply.json of a stored apply; empty if it is missing or damaged. Raises ChangeError if it is newer."""
    return host.load(
        UNDO, f"{FOLDER}/{when}/apply.json", "a rollback restores the files, and not the receipt"
    )


def rows_of(host: LocalHost, when: str) -> List[Json]:
    """Return the states that the apply with this name saved; damaged lines are left out, with a note.

    A last line that a crash truncated belongs to a change not made.
    """
    path = f"{FOLDER}/{when}/before.jsonl"
    rows = list(map(parse_object, (read(host.resolve_path(path)) or b"").splitlines()))
    good = [row for row in rows if isinstance(row.get("id"), str) and isinstance(row.get("before"), dict)]
    note = f"{path}: damaged lines: {len(rows) - len(good)}; what they saved is not restored"
    if any(row not in good for row in rows[:-1]) and note not in host.notes:
        host.notes.append(note)
    return good


def undo_rows(host: LocalHost, to: str) -> List[Json]:
    """Return the saved states of all resources that the apply `to` or a later one changed, each the earliest state.

    The rows are in the order of the changes.
    """
    rows_by_id = {}  # type: Json
    for when in whens(host):
        for row in rows_of(host, when) if when >= to else ():
            rows_by_id.setdefault(row["id"], dict(row, when=when))
    return list(rows_by_id.values())


def receipt_before(host: LocalHost, to: str) -> Json:
    """Return the receipt, the record of an apply, from before the apply `to` or the first later one on this host.

    Without one, the present receipt.
    """
    later = [when for when in whens(host) if when >= to]
    about = about_apply(host, later[0]) if later else {}
    return dict(about.get("receipt") or host.receipt)


def listed(host: LocalHost) -> List[Json]:
    """Return the applies that can be undone, each with the number of changes."""
    applies = []
    for when in whens(host):
        about = about_apply(host, when)
        row = {"when": when, "source": about.get("source", ""), "to": about.get("to", "")}
        applies.append(dict(row, changed=len(rows_of(host, when))))
    return applies


def prune(host: LocalHost) -> None:
    """Remove the stored states of all but the newest MAX_UNDO applies."""
    import shutil

    for old in whens(host)[:-MAX_UNDO]:
        shutil.rmtree(host.resolve_path(f"{FOLDER}/{old}"))
    sync_folder(host.resolve_path(FOLDER))
