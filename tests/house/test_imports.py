"""Imports go one way, the middle is pure, and what runs on hosts imports only what is sent with it."""

import pytest

STAGES = [
    "i18n", "errors", "units", "drawing", "platforms", "slurm", "onhost", "edge", "catalog", "config", "plan",
    "provision", "check", "runtime", "launch", "monitor", "diagnose", "heal", "lab", "cli",
]  # fmt: skip
NEVER = {("config", "edge"), ("catalog", "edge"), ("plan", "edge")}
LIB = "clusterwright.onhost.lib"  # what every program on a host may lean on, and the runtime
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
    "platforms",
)  # fmt: skip
PURE_EXCEPT = {"config/load.py"}  # reads the file it is given
BUNDLER = "clusterwright.edge.bundler"  # the text of our own programs is data
IMPURE = {
    "asyncio", "datetime", "glob", "multiprocessing", "os", "random", "secrets", "shutil", "socket", "subprocess",
    "sys", "tempfile", "threading", "time",
}  # fmt: skip


def stage(name: str) -> str | None:
    """The folder of ours that a dotted name lies in."""
    parts = name.split(".")
    return parts[1] if parts[0] == "clusterwright" and len(parts) > 1 and parts[1] in STAGES else None


def test_a_stage_imports_only_stages_to_its_left(source):
    """Right to left: cli, lab, heal, diagnose, monitor, launch, check, provision, plan, config, edge, platforms."""
    wrong = []
    for module in source:
        own = module.inside.split("/")[0].removesuffix(".py")
        for line, name in module.imports:
            other = stage(name)
            if own not in STAGES or other in (None, own):
                continue
            leftwards = STAGES.index(other) < STAGES.index(own) and (own, other) not in NEVER
            beneath = own in {"i18n", "errors", "units", "drawing", "platforms", "slurm"} and other != "i18n"
            if beneath or not leftwards:
                wrong.append(f"{module.name}:{line}: {own} imports {name}")

    assert wrong == []


def test_every_room_has_its_place(source):
    """A folder that no list names would be held to nothing."""
    rooms = {module.inside.split("/")[0].removesuffix(".py") for module in source}

    assert rooms - {"__init__"} == set(STAGES)


@pytest.mark.parametrize("folder", ON_HOSTS)
def test_what_runs_on_hosts_imports_only_its_own_rooms(source, folder):
    """It is copied to hosts by itself and must import fast."""
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
    """No file, process, socket, clock, environment or randomness where values go in and values come out."""
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
