"""The one bundler: programs for hosts, each with every module that it imports and nothing else."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

# Programs that are sent to a host as one script, by their main module.
RUNS = "onhost/runs/run_jobs"  # everything about runs: status, logs, cancel, checkpoints
HISTORY = "onhost/snapshot/history"  # what a report is made of
SNAPSHOT = "onhost/snapshot/snapshot"  # the cluster as it is now
RUN_TEXTS = "onhost/evidence/texts"  # logs and events of a job that ended
RANK_STACKS = "onhost/evidence/stacks"  # where the ranks of a host stand
RUN_METRICS = "onhost/evidence/metrics"  # what Prometheus recorded around a failure
DEV_REQUESTS = "onhost/dev/requests"  # `wright dev`, beside the queue
DEV_SESSION = "onhost/dev/hold"  # `wright dev`, inside the session's job
_AGENT = "onhost/provision/agent"

# What `wright apply` installs on hosts, as folders.
LIBRARY = (
    "onhost/lib", "onhost/adapters", "onhost/supervisor", "onhost/trackers", "runtime",  # imported in jobs
    "onhost/exporter", "onhost/notify",  # services
)  # fmt: skip

# Makes the modules in the order in which they come, and calls the last one's main.
_LOADER = """
import json, os, sys, types
for name, text in json.loads({sources!r}):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    exec(compile(text, name, "exec"), module.__dict__)
try:
    sys.exit(module.main())
except (BrokenPipeError, KeyboardInterrupt):
    os._exit(130)
"""
_IMPORT = re.compile(r"^[ \t]*from (clusterwright[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


@cache
def bundle_script(program: str) -> bytes:
    """A program for `python3 -` (3.8 or later)."""
    return _LOADER.replace("{sources!r}", repr(json.dumps(sources(program)))).encode()


@cache
def agent_modules() -> list[tuple[str, str]]:
    """Name and text of the modules of the provisioning agent, packages before what lies in them, its main last.

    The loader of a bundle runs a module when it is first used (Python 3.6 or later).
    """
    *others, main = (one for one in sources(_AGENT) if one[0].count(".") > 1)
    return [*sorted(others), main]


def sources(program: str) -> list[tuple[str, str]]:
    """Name and text of the program's modules, each after those that it imports; the program itself is last.

    A package comes with its own text if something is imported from it, else empty.
    """
    found: dict[str, str] = {}
    _collect(_dotted(program), found)
    packages = sorted({parent for name in found for parent in _parents(name)} - set(found))
    return [(name, "") for name in packages] + list(found.items())


def library() -> dict[str, str]:
    """What jobs import, and what measures hosts, as `{path below the library folder: text}`."""
    paths = [PACKAGE / "__init__.py", PACKAGE / "onhost" / "__init__.py"]
    for folder in LIBRARY:
        paths += sorted([*(PACKAGE / folder).rglob("*.py"), *(PACKAGE / folder).rglob("*.txt")])
    return {str(path.relative_to(PACKAGE.parent)): path.read_text() for path in paths}


def imports(text: str) -> list[str]:
    """The modules of ours that a module's text imports, wherever in it."""
    names = []
    for package, several, one in _IMPORT.findall(text):
        for item in (several or one.partition("#")[0]).split(","):
            for name in item.split()[:1]:
                inner = f"{package}.{name}"
                names.append(inner if _path(inner) else package)
    return list(dict.fromkeys(names))


def _collect(name: str, found: dict[str, str], *above: str) -> None:
    if name in found or name in above:
        return
    path = _path(name)
    if path is None:
        message = f"{above[-1] if above else name} imports {name}, which is no module of ours"
        raise ImportError(message)
    text = path.read_text(encoding="utf-8")
    for other in imports(text):
        _collect(other, found, *above, name)
    found[name] = text


def _path(name: str) -> Path | None:
    """The file of a module or package of ours."""
    place = PACKAGE.parent / name.replace(".", "/")
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _dotted(path: str) -> str:
    return f"clusterwright.{path.replace('/', '.')}"
