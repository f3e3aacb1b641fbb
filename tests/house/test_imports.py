"""Packages import in one direction, pure packages do no I/O, and programs on hosts import only what is sent along."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAGES = [
    "i18n", "errors", "file_arguments", "plugins", "units", "drawing", "platforms", "slurm", "onhost", "edge",
    "catalog", "config", "plan", "provision", "check", "runtime", "launch", "adopt", "monitor", "diagnose",
    "heal", "lab", "cli",
]  # fmt: skip
NEVER = {("config", "edge"), ("catalog", "edge"), ("plan", "edge")}
LIB = "clusterwright.onhost.lib"  # importable by all programs on hosts and by the runtime
IN_JOBS = tuple(
    f"clusterwright.onhost.{name}" for name in ("adapters", "frameworks", "launchers", "supervisor")
)
ON_HOSTS = {
    "onhost/adapters": IN_JOBS,
    "onhost/frameworks": IN_JOBS,
    "onhost/launchers": IN_JOBS,
    "onhost/lib": (),
    "onhost/exporter": (
        "clusterwright.onhost.exporter",
        "clusterwright.onhost.supervisor.goodput",
        "clusterwright.slurm",
    ),
    "onhost/notify": ("clusterwright.onhost.notify",),
    "onhost/provision": ("clusterwright.onhost.provision",),
    "onhost/supervisor": IN_JOBS,
    "onhost/trackers": ("clusterwright.onhost.trackers", "clusterwright.onhost.supervisor"),
    "onhost": ("clusterwright.onhost", "clusterwright.slurm"),
    "slurm": ("clusterwright.slurm",),
    "runtime": ("clusterwright.runtime",),
}
PURE = (
    "config", "slurm", "plan", "provision/render", "provision/roles", "provision/change", "check/checks",
    "check/bench/kinds", "check/bench/parsers", "check/report", "monitor/snapshot", "diagnose/judge",
    "heal/decide", "diagnose/pending", "diagnose/node", "monitor/records", "monitor/simulate", "monitor/report",
    "platforms", "adopt",
)  # fmt: skip
PURE_EXCEPT = {"config/load.py", "adopt/gather.py"}  # read the file that is passed, and hosts
BUNDLER = "clusterwright.edge.bundler"  # reads the source of our own programs
IMPURE = {
    "asyncio", "datetime", "glob", "multiprocessing", "os", "random", "secrets", "shutil", "socket", "subprocess",
    "sys", "tempfile", "threading", "time",
}  # fmt: skip


def stage(name: str) -> str | None:
    """Return the package of Clusterwright that a dotted name is in, or None."""
    parts = name.split(".")
    return parts[1] if parts[0] == "clusterwright" and len(parts) > 1 and parts[1] in STAGES else None


def test_a_stage_imports_only_stages_to_its_left(source):
    """Each package imports only packages before it in STAGES."""
    wrong = []
    for module in source:
        own = module.inside.split("/")[0].removesuffix(".py")
        for line, name in module.imports:
            other = stage(name)
            if own not in STAGES or other in (None, own):
                continue
            leftwards = STAGES.index(other) < STAGES.index(own) and (own, other) not in NEVER
            beneath = (
                own in {"i18n", "errors", "file_arguments", "units", "drawing", "platforms", "slurm"}
                and other != "i18n"
            )
            if beneath or not leftwards:
                wrong.append(f"{module.name}:{line}: {own} imports {name}")

    assert wrong == []


def test_every_room_has_its_place(source):
    """STAGES lists every package, so that the rules cover all."""
    rooms = {module.inside.split("/")[0].removesuffix(".py") for module in source}

    assert rooms - {"__init__", "__main__"} == set(STAGES)


@pytest.mark.parametrize("folder", ON_HOSTS)
def test_what_runs_on_hosts_imports_only_its_own_rooms(source, folder):
    """Programs on hosts are copied without the other packages and must import fast."""
    wrong = [
        f"{module.name}:{line}: imports {name}"
        for module in source
        for line, name in module.imports
        if module.inside.startswith(f"{folder}/")
        and name.startswith("clusterwright.")
        and not name.startswith((*ON_HOSTS[folder], LIB))
    ]

    assert wrong == []


@pytest.mark.parametrize("folder", PURE)
def test_the_middle_is_pure(source, folder):
    """Pure packages use no files, processes, sockets, clocks, environment or randomness."""
    modules = [module for module in source if module.inside.startswith((f"{folder}/", f"{folder}.py"))]
    wrong = [
        f"{module.name}:{line}: {folder} is pure; {name} belongs in edge/"
        for module in modules
        if module.inside not in PURE_EXCEPT
        for line, name in module.imports
        if name.split(".")[0] in IMPURE
        or (name.startswith("clusterwright.edge.") and not name.startswith(BUNDLER))
    ]

    assert modules
    assert wrong == []


def test_a_command_imports_only_the_modules_that_it_needs():
    """A ratchet that only falls: one import at the top of a module doubled the modules of `why` unseen."""
    figures = subprocess.run(
        [sys.executable, ROOT / "tools" / "house-figures"], capture_output=True, text=True, check=True
    ).stdout
    counts = dict(reversed(line.split(None, 1)) for line in figures.splitlines())

    assert int(counts["modules that a one-line `wright why -` imports"]) <= 50
    assert int(counts["modules that `wright train --dry-run` imports"]) <= 109
