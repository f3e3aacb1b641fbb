"""Describe this machine, and find what a demo has left on it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from clusterwright import __version__
from clusterwright.units import GiB, format_size


def machine() -> dict[str, str]:
    """Return this machine's processor, cores, memory, system and kernel."""
    return {
        "processor": _field(Path("/proc/cpuinfo"), "model name")
        or platform.processor()
        or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        "kernel": platform.release(),
    }


def software() -> dict[str, str]:
    """Return the versions of Clusterwright, Python and torch, `none` if torch is not installed."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = "none"
    return {"clusterwright": __version__, "python": platform.python_version(), "torch": torch}


def processes(variable: str, value: str) -> dict[int, dict[str, str]]:
    """Return the processes whose environment variable has that value: their environments by PID."""
    environments = {}
    for folder in Path("/proc").glob("[0-9]*"):
        environment = _environment(folder)
        if environment.get(variable) == value:
            environments[int(folder.name)] = environment
    return environments


def commands(*patterns: str) -> list[int]:
    """Return the PIDs of other processes of this machine whose command line contains all the patterns."""
    lines = {int(path.parent.name): _bytes(path) for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [
        pid
        for pid, line in lines.items()
        if pid != os.getpid() and all(pattern.encode() in line for pattern in patterns)
    ]


def remains(tag: str, folder: Path) -> list[str]:
    """Return leftovers of a lab: interfaces and namespaces of its tag; mounts, processes, files of its folder."""
    leftovers = [f"interface {path.name}" for path in Path("/sys/class/net").glob(f"{tag}*")]
    leftovers += [f"namespace {path.name}" for path in Path("/run/netns").glob(f"{tag}*")]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    leftovers += [f"mount {line.split()[4]}" for line in mounts if f" {folder}/" in line]
    for tree in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        leftovers += [
            f"control group {path}" for path in [tree / "clusterwright" / folder.name] if path.exists()
        ]
    leftovers += [f"process {pid}" for pid in commands(f"{folder}/")]
    return leftovers + ([f"folder {folder}"] if folder.exists() else [])


def _environment(folder: Path) -> dict[str, str]:
    pairs = (item.partition("=") for item in _bytes(folder / "environ").decode(errors="replace").split("\0"))
    return {name: value for name, equals, value in pairs if equals}


def _bytes(path: Path) -> bytes:
    """Return the content of a file; empty if its process is gone or belongs to another user."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _field(path: Path, name: str) -> str:
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def _memory() -> str:
    size_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return format_size(round(size_bytes / GiB) * GiB)
