"""Why a host differs from its desired state: the cluster file changed, or somebody changed the host.

Standard library only, Python 3.6 or later. Compares with the receipt of the last apply, which has a digest of every
resource of that time.
"""

import hashlib
import json
from typing import Dict

from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.host import Json, LocalHost, read

INTERRUPTED = "interrupted-packages"  # change that completes an installation
DERIVED_KINDS = ("systemd", "gone", "gone-unit", "gone-user")  # kinds of change without a resource


def digests(host: LocalHost) -> Dict[str, str]:
    """Return the digest of each desired resource, cached."""
    if host.digests is None:
        host.digests = {resource["id"]: digest(resource) for resource in host.resources}
    return host.digests


def digest(resource: Json) -> str:
    """Return a hash of one resource's fields without `restart_on`; for a derived file without its computed content."""
    excluded_keys = ("restart_on", "content") if "program" in resource else ("restart_on",)
    fields = {key: value for key, value in resource.items() if key not in excluded_keys}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def cause(host: LocalHost, change: Json, now: Dict[str, str]) -> str:
    """Return the cause of the change in one word.

    `new`: desired for the first time. `found`: as `new`, and a file that is not ours is in its place. `changed`: the
    cluster file changed it. `edited`, `missing`, `stopped`: the host no longer matches what the last apply made.
    `follows`: another change requires it. `hardware`: the host's devices or addresses changed.
    """
    kind, _, name = change["id"].partition(":")
    if kind == INTERRUPTED:
        return "edited"
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


def of_file(host: LocalHost, change: Json, *, is_unchanged: bool) -> str:
    """Return the cause for a file that we wrote: missing, edited, changed by the cluster file or by hardware."""
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
