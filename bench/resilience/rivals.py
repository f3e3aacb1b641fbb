"""Environments of the other systems: `python -m bench.resilience.rivals` installs missing ones.

They are in $CLUSTERWRIGHT_RIVALS (default: ~/.cache/clusterwright/rivals), one folder each.
Packages come from the package index; all traffic of the systems stays on the loopback interface.
torchrun needs no environment: it is part of the torch that runs the bench.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

HOME = Path(os.environ.get("CLUSTERWRIGHT_RIVALS", Path.home() / ".cache/clusterwright/rivals"))
TORCH = "torch==2.13.0"  # the version that ours uses, so that only the launchers differ
# Versions are pinned, as figures depend on them. Newer wheels of nvidia-resiliency-ext need Python 3.12.
WANTED = {
    "torchft": ("torchft-nightly==2026.10.26",),
    "nvrx": ("nvidia-resiliency-ext==0.4.1",),
    "slurm": ("torchx==0.7.0", "submitit==1.5.4"),
}


def python(rival: str) -> Path | None:
    """Return a system's interpreter; None if it is not installed."""
    path = HOME / rival / "bin/python"
    return path if (HOME / rival / "installed").exists() else None


def program(rival: str, name: str) -> Path | None:
    """Return the path of a program in its environment; None if it is missing."""
    found = python(rival)
    path = found.with_name(name) if found else None
    return path if path and path.exists() else None


def versions(rival: str) -> dict[str, str]:
    """Return names and versions of its installed requirements, with torch."""
    names = {each.partition("==")[0] for each in (*WANTED[rival], TORCH)}
    sites = [str(path) for path in (HOME / rival).glob("lib/python3*/site-packages")]
    return {each.name: each.version for each in _installed(sites) if each.name in names}


def _installed(sites: list[str]) -> list[Distribution]:
    return list(distributions(path=sites)) if sites else []


def install(rival: str) -> None:
    """Create its environment, torch first, so that other packages do not select another version."""
    folder = HOME / rival
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for wanted in ((TORCH, "numpy<3", "setuptools<81"), (TORCH, *WANTED[rival])):
        subprocess.run([*pip, *wanted], check=True, timeout=900)
    (folder / "installed").write_text("".join(f"{each}\n" for each in WANTED[rival]))


def main() -> None:
    """Install missing environments and print all versions."""
    HOME.mkdir(parents=True, exist_ok=True)
    for rival in sys.argv[1:] or WANTED:
        stamp = HOME / rival / "installed"
        if not stamp.exists() or tuple(stamp.read_text().split()) != WANTED[rival]:
            install(rival)
        print(f"{rival}: {versions(rival)}")


if __name__ == "__main__":
    main()
