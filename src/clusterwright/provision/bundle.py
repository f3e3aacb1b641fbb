"""The input of the provisioning agent on a host: what to do, and every resource of the host's desired state."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

from clusterwright.onhost.provision.host import text_of
from clusterwright.provision.resources import File, Resource

LEVEL = 2  # of zlib: 2.1 ms less for each host than with 6, and a tenth more bytes (gpu1024: 3.7 ms, 145 kB)

_FIELDS = {kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in get_args(Resource)}


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What the agent does: check, fetch packages, apply, or list the applies that can be rolled back."""

    mode: Literal["check", "fetch", "apply", "list"]
    source: str
    when: str  # name of the undo folder: a timestamp that sorts by time
    expect: str = ""  # checksum of the agreed plan; another plan is not applied
    root: str = ""
    os: str = ""  # the required distribution; empty: any
    os_names: Mapping[str, str] = dataclasses.field(default_factory=dict)  # by ID and version of os-release
    to: str = ""  # roll back to the state before this apply
    idle: bool = False  # skip changes that require a drained host while jobs run
    skip_sets: Mapping[str, str] = dataclasses.field(default_factory=dict)  # package sets to skip, and why
    package_bundle: bool = False  # install only from the package bundle that is on the host
    lock_timeout_s: int = 0  # how long to wait for another apply on the host
    removes: bool = True  # remove what earlier applies made and the cluster file no longer has
    progress: bool = False  # print the name of each step as it begins


def bundle(order: Order, resources: Iterable[Resource], shared: Iterable[str] = ()) -> bytes:
    """Return the input of the apply program on a host: order and resources as JSON, compressed by zlib.

    File contents that are in `shared`, those of all hosts, come first and are compressed once.
    """
    packer, head, shared_contents = _start(tuple(shared))
    document = dataclasses.asdict(order) | {
        "resources": [_resource_fields(resource, shared_contents) for resource in resources]
    }
    packer = packer.copy()
    body: bytes = packer.compress(json.dumps(document)[1:].encode()) + packer.flush()
    return head + body


def digest(resources: Iterable[Resource]) -> str:
    """Return a checksum of a host's desired state: 16 hex digits that differ when any resource differs."""
    rows = [_resource_fields(resource) for resource in resources]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _start(shared: tuple[str, ...]) -> tuple[Any, bytes, frozenset[str]]:
    """Compress the contents that all hosts' bundles share, once.

    Return the compressor in the state after them, its output so far, and the contents as a set.
    """
    packer = zlib.compressobj(LEVEL)
    contents = {_name(text): text for text in shared}
    head = packer.compress(f'{{"contents": {json.dumps(contents)}, '.encode())
    return packer, head, frozenset(shared)


@lru_cache(maxsize=256)
def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _resource_fields(resource: Resource, shared_contents: frozenset[str] = frozenset()) -> dict[str, Any]:
    fields = {name: getattr(resource, name) for name in _FIELDS[type(resource)]}
    if isinstance(resource, File):
        content = resource.content
        if isinstance(content, str) and content in shared_contents:
            fields["content_of"] = _name(content)
            del fields["content"]
        else:
            fields["content"] = content if isinstance(content, str) else text_of(content)
    return fields | {"kind": type(resource).__name__.lower(), "id": resource.id}
