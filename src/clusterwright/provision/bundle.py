"""What is sent to a host: the agent's own source and everything that is wanted there, in one stream."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

from clusterwright.provision.resources import File, Resource

# Reads a length, then that much compressed JSON of [name, source] pairs; makes the modules, each run when it is
# first used; the rest of stdin is the bundle, which the agent reads itself. Nothing that is secret is ever on a
# command line.
LOADER = """
import json,sys,types,zlib
if sys.version_info<(3,6): sys.exit("python3 is older than 3.6 here: "+sys.version.split()[0])
class M(types.ModuleType):
 def __getattr__(m,k):
  t=None if k[:2]=="__" else m.__dict__.pop("__text__",None)
  if t is None: raise AttributeError(k)
  exec(compile(t,m.__name__,"exec"),m.__dict__)
  return getattr(m,k)
s=sys.stdin.buffer
for n,t in json.loads(zlib.decompress(s.read(int(s.readline()))).decode()):
 m=M(n)
 m.__text__=t
 sys.modules[n]=m
 p,_,c=n.rpartition(".")
 if p in sys.modules: setattr(sys.modules[p],c,m)
m.main()
"""

# A small Rocky 8 has the Python of dnf, which is 3.6, and no other.
PYTHON = "$(command -v python3 || echo /usr/libexec/platform-python)"

LEVEL = 2  # of zlib: 2.1 ms less for each host than with 6, and a tenth more bytes (gpu1024: 3.7 ms, 145 kB)

_FIELDS = {kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in get_args(Resource)}


def command(*, sudo: bool) -> str:
    """What ssh runs on the host; sudo never asks."""
    python = f"{PYTHON} -c '{LOADER}'"
    return f'sudo -n env SSH_CONNECTION="$SSH_CONNECTION" {python}' if sudo else python


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What the agent is to do (look, fetch packages, act, list), for which file, and only if its plan still holds."""

    mode: Literal["check", "fetch", "apply", "list"]
    source: str
    when: str  # names the folder of what can be undone: letters that sort by time
    expect: str = ""
    root: str = ""
    os: str = ""  # the distribution that must be there; any, if empty
    to: str = ""  # back to before that apply
    idle: bool = False  # nothing that wants a drained host is done where jobs run
    leave: Mapping[str, str] = dataclasses.field(default_factory=dict)  # sets of packages, and why
    patience_s: int = 0  # how long it waits for another apply that is still at work


def bundle(
    order: Order, resources: Iterable[Resource], agent: list[tuple[str, str]], shared: Iterable[str] = ()
) -> bytes:
    """The bytes for the command's stdin. Contents that are `shared` by all hosts come first, compressed once."""
    packer, head, known = _start(tuple(shared))
    wanted = dataclasses.asdict(order) | {"resources": [_plain(one, known) for one in resources]}
    packer = packer.copy()
    rest: bytes = packer.compress(json.dumps(wanted)[1:].encode()) + packer.flush()
    code = _packed(tuple(agent))
    return f"{len(code)}\n".encode() + code + head + rest


def digest(resources: Iterable[Resource]) -> str:
    """Changes with whatever is wanted of a host."""
    rows = [_plain(one) for one in resources]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _packed(agent: tuple[tuple[str, str], ...]) -> bytes:
    return zlib.compress(json.dumps(agent).encode())


@lru_cache(maxsize=4)
def _start(shared: tuple[str, ...]) -> tuple[Any, bytes, frozenset[str]]:
    """A packer that has taken in the shared contents, what it gave for them, and the texts themselves."""
    packer = zlib.compressobj(LEVEL)
    contents = {_name(text): base64.b64encode(text.encode()).decode() for text in shared}
    head = packer.compress(f'{{"contents": {json.dumps(contents)}, '.encode())
    return packer, head, frozenset(shared)


@lru_cache(maxsize=256)
def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(resource: Resource, known: frozenset[str] = frozenset()) -> dict[str, Any]:
    fields = {name: getattr(resource, name) for name in _FIELDS[type(resource)]}
    if isinstance(resource, File):
        content = resource.content
        if isinstance(content, str) and content in known:
            fields["content_of"] = _name(content)
            del fields["content"]
        else:
            data = content.encode() if isinstance(content, str) else content
            fields["content"] = base64.b64encode(data).decode()
    return fields | {"kind": type(resource).__name__.lower(), "id": resource.id}
