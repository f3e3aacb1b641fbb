"""The one bundler: programs for hosts, each with every module that it imports and nothing else."""

from __future__ import annotations

import json
import re
import shlex
import zlib
from functools import cache
from pathlib import Path

from clusterwright.i18n import _

PACKAGE = Path(__file__).parents[1]

# Programs that are sent to hosts, by their main module.
PROVISION = "onhost/provision/agent"  # what `wright apply` does on each host
FACTS = "onhost/probes/reader"  # what `wright check` asks each host
BENCH = "onhost/bench/conduct"  # an order of `wright bench` to the hosts of its job
RUNS = "onhost/runs/run_jobs"  # everything about runs: status, logs, cancel, checkpoints
CHECKPOINTS = "onhost/runs/run_checkpoints"  # the listing of checkpoints, which needs nothing of ours there
HISTORY = "onhost/snapshot/history"  # what a report is made of
SNAPSHOT = "onhost/snapshot/snapshot"  # the cluster as it is now
RUN_TEXTS = "onhost/evidence/texts"  # logs and events of a job that ended
RANK_STACKS = "onhost/evidence/stacks"  # where the ranks of a host stand
RUN_METRICS = "onhost/evidence/metrics"  # what Prometheus recorded around a failure
DEV_REQUESTS = "onhost/dev/requests"  # `wright dev`, beside the queue
DEV_SESSION = "onhost/dev/session_job"  # `wright dev`, inside the session's job

# What `wright apply` installs on hosts, as folders.
LIBRARY = (
    "onhost/lib", "onhost/adapters", "onhost/frameworks", "onhost/launchers", "onhost/supervisor", "onhost/trackers",
    "runtime",  # imported in jobs
    "onhost/containers",  # starts steps in images, makes Python environments
    "onhost/exporter", "onhost/notify",  # services
    "slurm",  # what Slurm reports
)  # fmt: skip

# Reads from `s` a length and that much compressed JSON of [name, text] pairs, makes the modules, each run when it is
# first used (Python 3.6 or later), and calls the last one's main. What is left on stdin is the program's own input.
_LOAD = """
import _thread,json,os,sys,types,zlib
if sys.version_info<(3,6): sys.exit("python3 is older than 3.6 here: "+sys.version.split()[0])
L=_thread.RLock()
class M(types.ModuleType):
 def __getattr__(m,k):
  d=m.__dict__
  if k[:2]!="__":
   with L:
    t=d.pop("__text__",None)
    if t is not None: exec(compile(t,m.__name__,"exec"),d)
   if k in d: return d[k]
  raise AttributeError(k)
for n,t in json.loads(zlib.decompress(s.read(int(s.readline()))).decode()):
 m=M(n)
 m.__text__=t
 sys.modules[n]=m
 p,_,c=n.rpartition(".")
 if p: setattr(sys.modules[p],c,m)
try: sys.exit(m.main())
except (BrokenPipeError,KeyboardInterrupt): os._exit(130)
"""
LOADER = f"import sys\ns=sys.stdin.buffer{_LOAD}"

# A small Rocky 8 has the Python of dnf, which is 3.6, and no other.
PYTHON = "$(command -v python3 || echo /usr/libexec/platform-python)"

_IMPORT = re.compile(r"^[ \t]*from (clusterwright[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def program_command(*arguments: str) -> str:
    """The shell line that runs the program on stdin (`program_input`); it and its arguments are no secret."""
    return f"{PYTHON} {shlex.join(['-c', LOADER, *arguments])}"


@cache
def program_input(program: str) -> bytes:
    """The program's modules, for the stdin of `program_command`; the program's own input comes behind them."""
    *dependencies, main = sources(program)
    return pack([*sorted(dependencies), main])


def pack(modules: list[tuple[str, str]]) -> bytes:
    """Names and texts of modules as the loader reads them: packages before what is in them, the program last."""
    data = zlib.compress(json.dumps(modules).encode())
    return b"%d\n%b" % (len(data), data)


@cache
def bundle_script(program: str) -> bytes:
    """The program as a file of its own, or for `python3 -`."""
    return f"import io\ns=io.BytesIO({program_input(program)!r}){_LOAD}".encode()


def probe(name: str) -> str:
    """A probe of facts for `python3 -c` (3.6 or later)."""
    return _program_text(f"onhost/probes/{name}")


def bench_program(name: str) -> str:
    """A program of the bench as one file (3.8 or later)."""
    return _program_text(f"onhost/bench/{name}")


def trial_script() -> str:
    """What tries new files of Slurm's daemons, for `python3 -c` (3.6 or later)."""
    return _program_text("onhost/provision/slurm_trial")


@cache
def _program_text(program: str) -> str:
    """The program as it is, or with what it imports."""
    text = (PACKAGE / f"{program}.py").read_text(encoding="utf-8")
    return bundle_script(program).decode() if imports(text) else text


def sources(program: str) -> list[tuple[str, str]]:
    """Name and text of the program's modules, each after those that it imports; the program itself is last.

    A package comes with its own text if something is imported from it, else empty.
    """
    texts: dict[str, str] = {}
    _collect(_dotted(program), texts)
    packages = sorted({parent for name in texts for parent in _parents(name)} - set(texts))
    return [(name, "") for name in packages] + list(texts.items())


def library() -> dict[str, str]:
    """What jobs import, and what measures hosts, as `{path below the library folder: text}`."""
    return _installed(LIBRARY)


def power_programs() -> dict[str, str]:
    """What powers hosts up and down, as `library`."""
    return _installed(("onhost/lib", "onhost/power", "slurm"))


def _installed(folders: tuple[str, ...]) -> dict[str, str]:
    paths = [PACKAGE / "__init__.py", PACKAGE / "onhost" / "__init__.py"]
    for folder in folders:
        paths += sorted([*(PACKAGE / folder).rglob("*.py"), *(PACKAGE / folder).rglob("*.txt")])
    return {str(path.relative_to(PACKAGE.parent)): path.read_text() for path in paths}


def imports(text: str) -> list[str]:
    """The modules of ours that a module's text imports, wherever in it."""
    names = []
    for package, several, single in _IMPORT.findall(text):
        for item in (several or single.partition("#")[0]).split(","):
            for name in item.split()[:1]:
                inner = f"{package}.{name}"
                names.append(inner if _path(inner) else package)
    return list(dict.fromkeys(names))


def _collect(name: str, texts: dict[str, str], *above: str) -> None:
    if name in texts or name in above:
        return
    path = _path(name)
    if path is None:
        message = _(
            "{above} imports {name}, which is not a module of Clusterwright",
            above=above[-1] if above else name,
            name=name,
        )
        raise ImportError(message)
    text = path.read_text(encoding="utf-8")
    for dependency in imports(text):
        _collect(dependency, texts, *above, name)
    texts[name] = text


def _path(name: str) -> Path | None:
    """The file of a module or package of ours."""
    base = PACKAGE.parent / name.replace(".", "/")
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _dotted(path: str) -> str:
    return f"clusterwright.{path.replace('/', '.')}"
