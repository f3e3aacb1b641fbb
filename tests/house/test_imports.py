"""Imports go one way, the middle is pure, and what runs on hosts imports only what is sent with it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "clusterwright"
STAGES = [
    "errors", "units", "drawing", "onhost", "edge", "catalog", "config", "plan", "provision", "check", "runtime",
    "launch", "monitor", "diagnose", "heal", "lab", "cli",
]  # fmt: skip
NEVER = {("config", "edge"), ("catalog", "edge"), ("plan", "edge")}
ON_HOSTS = {
    "onhost/adapters": ("clusterwright.onhost.adapters", "clusterwright.onhost.supervisor"),
    "onhost/exporter": ("clusterwright.onhost.exporter", "clusterwright.onhost.supervisor.ledger"),
    "onhost/notify": ("clusterwright.onhost.notify",),
    "onhost/provision": ("clusterwright.onhost.provision",),
    "onhost/supervisor": ("clusterwright.onhost.supervisor",),
    "onhost/trackers": ("clusterwright.onhost.trackers", "clusterwright.onhost.supervisor"),
    "onhost": ("clusterwright.onhost",),
    "runtime": ("clusterwright.runtime",),
}
PURE = (
    "config", "plan", "provision/render", "provision/roles", "provision/change", "check/checks", "check/bench/kinds",
    "check/bench/parsers", "check/report", "monitor/picture", "diagnose/judge", "heal/decide", "diagnose/pending",
    "diagnose/node", "monitor/records", "monitor/simulate", "monitor/report",
)  # fmt: skip
PURE_EXCEPT = {"config/load.py"}  # reads the file it is given
IMPURE = {
    "asyncio", "datetime", "glob", "multiprocessing", "os", "random", "secrets", "shutil", "socket", "subprocess",
    "sys", "tempfile", "threading", "time",
}  # fmt: skip


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(path for path in SOURCE.rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that the module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the import in full"
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def stage(name: str) -> str | None:
    """The folder of ours that a dotted name lies in."""
    parts = name.split(".")
    return parts[1] if parts[0] == "clusterwright" and len(parts) > 1 and parts[1] in STAGES else None


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_stage_imports_only_stages_to_its_left(path):
    """Right to left: cli, lab, heal, diagnose, monitor, launch, check, provision, plan, config, catalog, edge."""
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")

    for line, name in imported(path):
        other = stage(name)
        if own in STAGES and other not in (None, own):
            allowed = STAGES.index(other) < STAGES.index(own) and (own, other) not in NEVER
            assert allowed, f"{path}:{line}: {own} imports {name}"
        if own in {"errors", "units", "drawing"}:
            assert other in (None, own), f"{path}:{line}: {own} imports nothing of ours"


@pytest.mark.parametrize("folder", ON_HOSTS)
def test_what_runs_on_hosts_imports_only_its_own_rooms(folder):
    """It is copied to hosts by itself and must import fast."""
    for path in (SOURCE / folder).rglob("*.py"):
        for line, name in imported(path):
            if name.startswith("clusterwright."):
                assert name.startswith(ON_HOSTS[folder]), f"{path}:{line}: imports {name}"


@pytest.mark.parametrize("folder", PURE)
def test_the_middle_is_pure(folder):
    """No file, process, socket, clock, environment or randomness where values go in and values come out."""
    for path in (SOURCE / folder).rglob("*.py"):
        if str(path.relative_to(SOURCE)) in PURE_EXCEPT:
            continue
        for line, name in imported(path):
            assert name.split(".")[0] not in IMPURE, (
                f"{path}:{line}: {folder} is pure; {name} belongs in edge/"
            )
            assert not name.startswith("clusterwright.edge"), (
                f"{path}:{line}: {folder} is pure; it imports {name}"
            )
