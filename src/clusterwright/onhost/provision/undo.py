"""What an apply keeps of the host as it was, so that it can be undone.

Standard library only, Python 3.6 or later. Below undo/WHEN, for root's eyes only:

    apply.json     from which file, and the receipt before it
    before.jsonl   one line for each thing, on disk before the thing is changed
    files/PATH     a file as it was
"""

import json
import os
from typing import List, Optional

from clusterwright.onhost.lib.files import sync_folder
from clusterwright.onhost.provision.disk import state_of, sync_disk, write_private
from clusterwright.onhost.provision.host import STATE, Host, Json, read, whole_json

UNDO = STATE + "/undo"
KEPT = 10  # applies that can be undone: a choice, well under a megabyte each
# What no rollback takes away
STAYS = ("package", "hold", "group", "user", "gone-user", "module", "disks", "records")


def begin(host: Host) -> None:
    """The folder of this apply; a second begin under the same name goes on with the first."""
    folder = host.at(f"{UNDO}/{host.bundle['when']}")
    os.makedirs(folder + "/files", exist_ok=True)
    if not os.path.exists(folder + "/apply.json"):
        about = {key: host.bundle.get(key, "") for key in ("when", "source", "to")}
        write_private(folder + "/apply.json", json.dumps(dict(about, receipt=host.receipt)).encode())
    host.kept = {row["id"] for row in rows_of(host, host.bundle["when"])}


def keep_change(host: Host, change: Json, resource: Optional[Json]) -> None:
    """What the change is about, as it is now."""
    kind, _, name = change["id"].partition(":")
    if kind in ("file", "gone"):
        keep_path(host, "file:" + name, resource or host.receipt["files"].get(name, {}))
    elif kind in ("directory", "symlink"):
        keep_path(host, change["id"], {})
    elif kind == "sysctl":
        value = read(host.at("/proc/sys/" + name.replace(".", "/")))
        keep(host, {"id": change["id"], "before": {"value": " ".join((value or b"").decode().split())}})
    elif kind in STAYS:
        keep(host, {"id": change["id"], "before": {}, "what": change["what"]})


def keep_path(host: Host, name: str, resource: Json) -> None:
    """The path itself, and the folders above it that will be made for it."""
    path = name.partition(":")[2]
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(host.at(above)):
        keep_path(host, "directory:" + above, {})
    if name in host.kept:
        return
    before = state_of(host.at(path))
    if before["kind"] == "file":
        import shutil

        copy = host.at(f"{UNDO}/{host.bundle['when']}/files{path}")
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(host.at(path), copy)
        os.chmod(copy, 0o600)
    row = {key: resource[key] for key in ("secret", "gentle", "cost") if resource.get(key)}
    keep(host, dict(row, id=name, before=before))


def keep_units(host: Host, states: Json) -> None:
    """Whether each unit ran and was enabled."""
    for name, state in states.items():
        before = {
            "active": state.get("ActiveState") == "active",
            "enabled": state.get("UnitFileState", "").startswith("enabled"),
        }
        keep(host, {"id": "unit:" + name, "before": before})


def keep(host: Host, row: Json) -> None:
    """One line, once `settle` writes it; what was kept first in an apply is what was there before it."""
    if row["id"] in host.kept:
        return
    host.unwritten.append(json.dumps(row) + "\n")
    host.kept.add(row["id"])


def settle(host: Host) -> None:
    """What was kept is on disk."""
    if host.unwritten:
        with open(host.at(f"{UNDO}/{host.bundle['when']}/before.jsonl"), "a") as file:
            file.writelines(host.unwritten)
        host.unwritten.clear()
        sync_disk(host.at(UNDO))


def whens(host: Host) -> List[str]:
    """The applies that are kept, the oldest first."""
    try:
        return sorted(os.listdir(host.at(UNDO)))
    except FileNotFoundError:
        return []


def rows_of(host: Host, when: str) -> List[Json]:
    """What one apply kept; a line that a crash cut short told of a change that was not made."""
    text = (read(host.at(f"{UNDO}/{when}/before.jsonl")) or b"").decode()
    return [row for row in map(whole_json, text.splitlines()) if row]


def since(host: Host, to: str) -> List[Json]:
    """What was there before the apply `to` and all later ones, in the order in which it was changed."""
    found = {}  # type: Json
    for when in whens(host):
        for row in rows_of(host, when) if when >= to else ():
            found.setdefault(row["id"], dict(row, when=when))
    return list(found.values())


def receipt_before(host: Host, to: str) -> Json:
    """The receipt before the apply `to`, or before the first later one on this host; today's where none was."""
    later = [when for when in whens(host) if when >= to]
    about = whole_json((read(host.at(f"{UNDO}/{later[0]}/apply.json")) or b"").decode()) if later else {}
    return dict(about.get("receipt") or host.receipt)


def listed(host: Host) -> List[Json]:
    """The applies that can be undone, each with the count of what it changed."""
    found = []
    for when in whens(host):
        about = whole_json((read(host.at(f"{UNDO}/{when}/apply.json")) or b"").decode())
        row = {"when": when, "source": about.get("source", ""), "to": about.get("to", "")}
        found.append(dict(row, changed=len(rows_of(host, when))))
    return found


def prune(host: Host) -> None:
    """The oldest go."""
    import shutil

    for old in whens(host)[:-KEPT]:
        shutil.rmtree(host.at(f"{UNDO}/{old}"))
    sync_folder(host.at(UNDO))
