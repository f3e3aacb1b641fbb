"""Bundle programs for hosts, each with exactly the modules of ours that it imports."""

from __future__ import annotations

import json
import re
import shlex
import zlib
from functools import cache
from pathlib import Path

from clusterwright import plugins
from clusterwright.i18n import _
from clusterwright.onhost.lib.processes import NOT_HERE

PACKAGE = Path(__file__).parents[1]

# Programs that are sent to hosts, by their main module.
PROVISION = "onhost/provision/agent"  # `wright apply`, on each host
FACTS = "onhost/probes/reader"  # `wright check`, on each host
BENCH = "onhost/bench/conduct"  # `wright bench`, on the hosts of its job
RUNS = "onhost/runs/run_jobs"  # runs: status, logs, cancel, checkpoints
CHECKPOINTS = "onhost/runs/run_checkpoints"  # list checkpoints, without our library on the host
HISTORY = "onhost/snapshot/history"  # data of reports
SNAPSHOT = "onhost/snapshot/snapshot"  # the current state of the cluster
RUN_TEXTS = "onhost/evidence/texts"  # logs and events of a completed job
RANK_STACKS = "onhost/evidence/stacks"  # stacks of the ranks on a host
RUN_METRICS = "onhost/evidence/metrics"  # Prometheus data around a failure
BIOS = "onhost/power/bios"  # `wright bios`, on the control host
DEV_REQUESTS = "onhost/dev/requests"  # `wright dev`, on the control host
HOST_SURVEY = "onhost/supervisor/preflight/survey"  # `wright train --hostfile`, on each host before the start
HOST_REACH = "onhost/supervisor/preflight/reach"
DEV_SESSION = "onhost/dev/session_job"  # `wright dev`, inside the session's job

# Folders that `wright apply` installs on hosts.
LIBRARY = (
    "onhost/lib", "onhost/adapters", "onhost/frameworks", "onhost/launchers", "onhost/supervisor", "onhost/trackers",
    "onhost/object_storage",
    "runtime",  # imported in jobs
    "onhost/containers",  # starts steps in images, builds Python environments
    "onhost/exporter", "onhost/notify",  # services
    "slurm",  # parsers of Slurm's output
)  # fmt: skip

# Reads from `s` a length and compressed JSON of that length with [name, text] pairs, creates the modules, executes
# each on first use (Python 3.6 or later), and calls main of the last one. The rest of stdin is the program's input.
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
LOADER = f"{NOT_HERE}\ns=sys.stdin.buffer{_LOAD}"

# A minimal Rocky 8 has only the Python of dnf, which is 3.6.
PYTHON = "$(command -v python3 || echo /usr/libexec/platform-python)"

_IMPORT = re.compile(r"^[ \t]*from (clusterwright[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def program_command(*arguments: str) -> str:
    """Return the shell line with which Python runs a program from stdin (`program_input`); ps shows its arguments.

    Python is isolated (-I): it imports nothing from the current folder, which may be another user's.
    """
    return f"{PYTHON} {shlex.join(['-I', '-c', LOADER, *arguments])}"


@cache
def program_input(program: str) -> bytes:
    """Return the program's modules, packed for the stdin of `program_command`; the program's own input follows them."""
    *dependencies, main = sources(program)
    return pack([*sorted(dependencies), main])


def pack(modules: list[tuple[str, str]]) -> bytes:
    """Serialize (name, text) of modules for the loader: packages before their modules, the program last."""
    data = zlib.compress(json.dumps(modules).encode())
    return b"%d\n%b" % (len(data), data)


@cache
def bundle_script(program: str) -> bytes:
    """Return the program and all modules of ours that it imports as one self-contained script.

    For a file or for `python3 -`, which would import modules of the current folder: another user's, maybe.
    """
    return f"{NOT_HERE}; import io\ns=io.BytesIO({program_input(program)!r}){_LOAD}".encode()


def probe(name: str) -> str:
    """Return the text of a fact probe, for `python3 -c` (3.6 or later)."""
    return _program_text(f"onhost/probes/{name}")


def bench_program(name: str) -> str:
    """Return the text of a bench program as one file (Python 3.8 or later)."""
    return _program_text(f"onhost/bench/{name}")


def trial_script() -> str:
    """Return the text of slurm_trial.py, which starts Slurm's daemons on new files, for `python3 -c` (3.6 or later)."""
    return _program_text("onhost/provision/slurm_trial")


@cache
def _program_text(program: str) -> str:
    """Return the source text of a program, bundled into one script if it imports modules of ours."""
    text = (PACKAGE / f"{program}.py").read_text(encoding="utf-8")
    return bundle_script(program).decode() if imports(text) else text


def sources(program: str) -> list[tuple[str, str]]:
    """Module name and source text of the program's modules, each after those that it imports, the program last.

    The text of a package is empty unless a module imports from the package itself.
    """
    texts: dict[str, str] = {}
    _collect(_dotted(program), texts)
    packages = sorted({parent for name in texts for parent in _parents(name)} - set(texts))
    return [(name, "") for name in packages] + list(texts.items())


def library() -> dict[str, str]:
    """Return the library for jobs and services on hosts, as `{path below the library folder: text}`.

    Raises:
        WrightError: `plugin-clash`: a plug-in has a launcher with the name of ours.
    """
    files = _installed(LIBRARY)
    for name, (plugin, path) in plugins.launchers().items():
        target = f"clusterwright/onhost/launchers/{name}.py"
        if target in files:
            reason = _("the name `{name}` is taken by {owner}", name=name, owner="Clusterwright")
            raise plugin.error(reason, code="plugin-clash")
        files[target] = path.read_text(encoding="utf-8")
    return files


def power_programs() -> dict[str, str]:
    """Return the modules of the power control service, as `{path below the library folder: text}`."""
    return _installed(("onhost/lib", "onhost/power", "slurm"))


def _installed(folders: tuple[str, ...]) -> dict[str, str]:
    paths = [PACKAGE / "__init__.py", PACKAGE / "onhost" / "__init__.py"]
    for folder in folders:
        paths += sorted([*(PACKAGE / folder).rglob("*.py"), *(PACKAGE / folder).rglob("*.txt")])
    return {str(path.relative_to(PACKAGE.parent)): path.read_text() for path in paths}


def imports(text: str) -> list[str]:
    """Return the names of modules of ours that a source text imports, at module level or inside functions."""
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
        raise ImportError(f"{above[-1] if above else name} imports {name}, which is not a module of ours")
    text = path.read_text(encoding="utf-8")
    for dependency in imports(text):
        _collect(dependency, texts, *above, name)
    texts[name] = text


def _path(name: str) -> Path | None:
    """Return the path of the source file of one of Clusterwright's modules or packages; None for any other name."""
    base = PACKAGE.parent / name.replace(".", "/")
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _dotted(path: str) -> str:
    return f"clusterwright.{path.replace('/', '.')}"
