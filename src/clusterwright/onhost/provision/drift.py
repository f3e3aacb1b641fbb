"""Why a host is not as wanted: the file asks for something else, or somebody was there by hand.

Standard library only, Python 3.6 or later. Told from the receipt of the last apply, which keeps a digest of
every resource that was wanted then.
"""

import hashlib
import json
from typing import Dict

from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.host import Host, Json, read

AS_IT_FOLLOWS = ("systemd", "gone", "gone-unit", "gone-user")  # kinds of change that no resource asks for


def digests(host: Host) -> Dict[str, str]:
    """What is wanted now, resource by resource; what only orders them is left out."""
    if host.digests is None:
        host.digests = {resource["id"]: digest(resource) for resource in host.resources}
    return host.digests


def digest(resource: Json) -> str:
    """One resource as a word; of a file that was worked out here, what it was worked out from."""
    without = ("restart_on", "content") if "program" in resource else ("restart_on",)
    plain = {key: value for key, value in resource.items() if key not in without}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def cause(host: Host, change: Json, now: Dict[str, str]) -> str:
    """One word for why the change is needed.

    `new`: wanted for the first time. `found`: the same, and something that is not ours is in its place.
    `changed`: the file asks for another. `edited`, `missing`, `stopped`: it was as wanted once, and is not now.
    `follows`: another change asks for it. `hardware`: the host itself has other devices or addresses than then.
    """
    kind, _, name = change["id"].partition(":")
    if kind in AS_IT_FOLLOWS:
        return "follows" if kind == "systemd" else "changed"
    before = host.receipt.get("wanted", {}).get(change["id"])
    if kind == "unit" and not {Verb.START, Verb.ENABLE}.intersection(change["verbs"]):
        return "follows"
    if before is None:
        there = kind == "file" and read(host.at(name)) is not None
        return "found" if there else "new"
    if kind == "file":
        return of_file(host, change, same=before == now[change["id"]])
    if before != now[change["id"]]:
        return "changed"
    return {"unit": "stopped", "package": "missing"}.get(kind, "edited")


def of_file(host: Host, change: Json, *, same: bool) -> str:
    """A file that we wrote once: gone, edited since, or as we left it while cluster file or host moved on."""
    path = change["id"].partition(":")[2]
    content = read(host.at(path))
    if content is None:
        return "missing"
    row = host.receipt["files"].get(path, {})
    if hashlib.sha256(content).hexdigest() != row.get("sha256"):
        return "edited"
    if not same:
        return "changed"
    return "hardware" if Verb.REWRITE in change["verbs"] else "edited"
