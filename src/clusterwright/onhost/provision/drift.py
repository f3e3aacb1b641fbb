"""Why a host is not as wanted: the file asks for something else, or somebody was there by hand.

Standard library only, Python 3.6 or later. Told from the receipt of the last apply, which keeps a digest of
every resource that was wanted then.
"""

import hashlib
import json
from typing import Dict

from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.host import Host, Json, read

DERIVED_KINDS = ("systemd", "gone", "gone-unit", "gone-user")  # kinds of change that no resource asks for


def digests(host: Host) -> Dict[str, str]:
    """What is wanted now, resource by resource; what only orders them is left out."""
    if host.digests is None:
        host.digests = {resource["id"]: digest(resource) for resource in host.resources}
    return host.digests


def digest(resource: Json) -> str:
    """One resource as a word; of a file that was worked out here, what it was worked out from."""
    excluded_keys = ("restart_on", "content") if "program" in resource else ("restart_on",)
    fields = {key: value for key, value in resource.items() if key not in excluded_keys}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def cause(host: Host, change: Json, now: Dict[str, str]) -> str:
    """One word for why the change is needed.

    `new`: wanted for the first time. `found`: the same, and something that is not ours is in its place.
    `changed`: the file asks for another. `edited`, `missing`, `stopped`: it was as wanted once, and is not now.
    `follows`: another change asks for it. `hardware`: the host itself has other devices or addresses than then.
    """
    kind, _, name = change["id"].partition(":")
    if kind in DERIVED_KINDS:
        return "follows" if kind == "systemd" else "changed"
    previous_digest = host.receipt.get("wanted", {}).get(change["id"])
    if kind == "unit" and not {Verb.START, Verb.ENABLE}.intersection(change["verbs"]):
        return "follows"
    if previous_digest is None:
        exists = kind == "file" and read(host.resolve_path(name)) is not None
        return "found" if exists else "new"
    if kind == "file":
        return of_file(host, change, is_unchanged=previous_digest == now[change["id"]])
    if previous_digest != now[change["id"]]:
        return "changed"
    return {"unit": "stopped", "package": "missing"}.get(kind, "edited")


def of_file(host: Host, change: Json, *, is_unchanged: bool) -> str:
    """A file that we wrote once: gone, edited since, or as we left it while cluster file or host moved on."""
    path = change["id"].partition(":")[2]
    content = read(host.resolve_path(path))
    if content is None:
        return "missing"
    row = host.receipt["files"].get(path, {})
    if hashlib.sha256(content).hexdigest() != row.get("sha256"):
        return "edited"
    if not is_unchanged:
        return "changed"
    return "hardware" if Verb.REWRITE in change["verbs"] else "edited"
