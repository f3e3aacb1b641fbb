"""Source texts of our own modules, for what is sent to hosts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path, PurePosixPath

PACKAGE = Path(__file__).parents[1]
AGENT = (
    "host", "disk", "drift", "reboots", "undo", "files", "packages", "sets", "system", "units", "hardware",
    "accounts", "sacctmgr",
    "account_changes", "reservations", "storage/__init__", "storage/quotas", "records",
    "storage/mountpoint", "storage/disks",
    "derive/__init__", "derive/rdma", "derive/topology", "derive/nccl_conf", "derive/rdma_ports", "derive/ucx_conf",
    "derive/derived", "plan", "rollback", "troubles", "agent",
)  # fmt: skip  # each imports only those before it
JOB_SIDE = ("train/adapters", "train/agent", "train/runtime", "train/recipes", "train/trackers")
HOST_SIDE = ("watch/exporter", "watch/notify")


@cache
def agent_sources() -> list[tuple[str, str]]:
    """Name and text of the modules of the agent on the host, in the order in which they import each other."""
    folder = PACKAGE / "build" / "agent"
    names = [("clusterwright.build.agent", folder / "__init__.py")]
    names += [(_of_agent(name), folder / f"{name}.py") for name in AGENT]
    return [(name, path.read_text()) for name, path in names]


def _of_agent(name: str) -> str:
    return "clusterwright.build.agent." + name.removesuffix("/__init__").replace("/", ".")


def payload() -> dict[str, str]:
    """What jobs import, and what measures hosts, as `{path below the library folder: text}`."""
    paths = [PACKAGE / name / "__init__.py" for name in ("", "train", "watch")]
    for folder in JOB_SIDE + HOST_SIDE:
        paths += sorted([*(PACKAGE / folder).rglob("*.py"), *(PACKAGE / folder).rglob("*.txt")])
    return {str(path.relative_to(PACKAGE.parent)): path.read_text() for path in paths}


# What is done beside the runs' folder; each imports only those before it.
FAR = (
    *(
        f"train/agent/{name}"
        for name in (
            "blame/words",
            "blame/first",
            "ledger/timeline",
            "ledger/ledger",
            "ledger/history",
            "ledger/figures",
            "ledger/reading",
            "ledger/communication",
            "ledger/speed",
            "ledger/slow",
            "ledger/advice",
        )
    ),
    *(f"train/launch/{name}" for name in ("far_files", "far_checkpoints", "far_status")),
    *(f"train/follow/{name}" for name in ("far_progress", "far_series", "far_merging")),
    *(f"train/launch/{name}" for name in ("far_logs", "far")),
)

# Makes the modules in the order in which they come, and calls the last one's main.
_FAR_LOADER = """
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


# What `wright dev` does beside the queue, and inside the job of a session.
DEV_FAR = tuple(f"train/dev/host/{name}" for name in ("said", "far"))
DEV_HOLD = tuple(
    f"train/dev/host/{name}" for name in ("said", "work", "home", "ports", "jupyter", "sshd", "shell", "hold")
)


def far_text() -> bytes:
    """One script for `python3 -` (3.8 or later) on a host that sees the runs' folder."""
    return one_script(FAR)


@cache
def one_script(paths: tuple[str, ...]) -> bytes:
    """Modules as one script (3.8 or later) that calls the last one's main; each imports only those before it."""
    sources = [(name, "") for name in _packages(paths)]
    sources += [(_dotted(path), (PACKAGE / f"{path}.py").read_text(encoding="utf-8")) for path in paths]
    return _FAR_LOADER.replace("{sources!r}", repr(json.dumps(sources))).encode()


def _packages(paths: tuple[str, ...]) -> list[str]:
    """The packages above the modules, each after the one that it lies in."""
    above = {_dotted(str(parent)) for path in paths for parent in PurePosixPath(path).parents}
    return sorted(above)


def _dotted(path: str) -> str:
    return ".".join(("clusterwright", *(part for part in path.split("/") if part != ".")))
