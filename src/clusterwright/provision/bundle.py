"""What the provisioning program reads on a host: its order, and every resource that the host is to have."""

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
    """What the agent is to do (look, fetch packages, act, list), for which file, and only if its plan still holds."""

    mode: Literal["check", "fetch", "apply", "list"]
    source: str
    when: str  # names the folder of what can be undone: letters that sort by time
    expect: str = ""
    root: str = ""
    os: str = ""  # the distribution that must be there; any, if empty
    os_names: Mapping[str, str] = dataclasses.field(default_factory=dict)  # by ID and version of os-release
    to: str = ""  # back to before that apply
    idle: bool = False  # nothing that wants a drained host is done where jobs run
    leave: Mapping[str, str] = dataclasses.field(default_factory=dict)  # sets of packages, and why
    lock_timeout_s: int = 0  # how long it waits for another apply that is still at work


def bundle(order: Order, resources: Iterable[Resource], shared: Iterable[str] = ()) -> bytes:
    """The program's input. Contents that are `shared` by all hosts come first, compressed once."""
    packer, head, shared_contents = _start(tuple(shared))
    document = dataclasses.asdict(order) | {
        "resources": [_resource_fields(resource, shared_contents) for resource in resources]
    }
    packer = packer.copy()
    body: bytes = packer.compress(json.dumps(document)[1:].encode()) + packer.flush()
    return head + body


def digest(resources: Iterable[Resource]) -> str:
    """Changes with whatever is wanted of a host."""
    rows = [_resource_fields(resource) for resource in resources]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _start(shared: tuple[str, ...]) -> tuple[Any, bytes, frozenset[str]]:
    """A packer that has taken in the shared contents, what it gave for them, and the texts themselves."""
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
