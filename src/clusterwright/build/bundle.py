"""What is sent to a host: the agent's own source and everything that is wanted there, in one stream."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Iterable
from typing import Any, Literal

from clusterwright.build.resources import File, Resource

# Reads a length, then that much compressed JSON of [name, source] pairs; makes the modules; the rest of stdin
# is the bundle, which the agent reads itself. Nothing that is secret is ever on a command line.
LOADER = """
import json,sys,types,zlib
s=sys.stdin.buffer
for n,t in json.loads(zlib.decompress(s.read(int(s.readline()))).decode()):
 m=types.ModuleType(n)
 sys.modules[n]=m
 p,_,c=n.rpartition(".")
 if p in sys.modules: setattr(sys.modules[p],c,m)
 exec(compile(t,n,"exec"),m.__dict__)
m.main()
"""


def command(*, sudo: bool) -> str:
    """What ssh runs on the host; sudo never asks."""
    python = f"python3 -c '{LOADER}'"
    return f'sudo -n env SSH_CONNECTION="$SSH_CONNECTION" {python}' if sudo else python


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What the agent is to do: look or act, for which file, and only if its plan is still the one shown."""

    mode: Literal["check", "apply"]
    source: str
    when: str  # names the folder of what can be undone: digits that sort by time
    expect: str = ""
    root: str = ""


def bundle(order: Order, resources: Iterable[Resource], agent: list[tuple[str, str]]) -> bytes:
    """The bytes for the command's stdin."""
    code = zlib.compress(json.dumps(agent).encode())
    wanted = dataclasses.asdict(order) | {"resources": [_plain(resource) for resource in resources]}
    return f"{len(code)}\n".encode() + code + zlib.compress(json.dumps(wanted).encode())


def _plain(resource: Resource) -> dict[str, Any]:
    fields = {field.name: getattr(resource, field.name) for field in dataclasses.fields(resource)}
    if isinstance(resource, File):
        content = resource.content.encode() if isinstance(resource.content, str) else resource.content
        fields["content"] = base64.b64encode(content).decode()
    return fields | {"kind": type(resource).__name__.lower(), "id": resource.id}
