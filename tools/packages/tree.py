"""The files that both packages install, as a folder."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NAME = "clusterwright"
HOME = f"usr/lib/{NAME}"  # laid out as a virtual environment, so that `wright` can start its own modules
SITE = f"{HOME}/lib/python3.11/site-packages"
PYTHONS = ("3.12", "3.13", "3.14")  # links to the modules of 3.11
UNITS = "usr/lib/systemd/system"
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/wright",
    "zsh": "usr/share/zsh/vendor-completions/_wright",
    "fish": "usr/share/fish/vendor_completions.d/wright.fish",
}
_WRIGHT = f"""#!/{HOME}/bin/python3 -I
import sys

from clusterwright.cli import main

sys.exit(main())
"""
_ENVIRONMENT = "home = /usr/bin\ninclude-system-site-packages = true\n"


def build_tree(site_packages: Path, folder: Path) -> None:
    """Fill `folder` with the modules, `wright`, the units, completions, man pages and the changelog."""
    shutil.copytree(site_packages, folder / SITE, ignore=shutil.ignore_patterns("__pycache__"))
    _write(folder / HOME / "pyvenv.cfg", _ENVIRONMENT)
    _write(folder / HOME / "bin" / "wright", _WRIGHT, 0o755)
    for python in PYTHONS:
        (folder / HOME / "lib" / f"python{python}").symlink_to("python3.11")
    (folder / HOME / "bin" / "python3").symlink_to("../../../bin/python3")
    (folder / "usr" / "bin").mkdir(parents=True)
    (folder / "usr" / "bin" / "wright").symlink_to("../lib/clusterwright/bin/wright")
    for unit, text in _units(folder / SITE).items():
        _write(folder / UNITS / unit, text)
    for shell, path in COMPLETIONS.items():
        _write(folder / path, _python(folder / SITE, "-m", NAME, "completion", shell))
    for page in sorted((ROOT / "docs" / "man").glob("*.1")):
        compress(folder / "usr/share/man/man1" / f"{page.name}.gz", page.read_bytes())
    compress(folder / f"usr/share/doc/{NAME}/changelog.gz", (ROOT / "CHANGELOG.md").read_bytes())


def set_times(folder: Path, timestamp: int) -> None:
    """Give every file and folder the modes of packages and the time of the commit."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(
                0o755 if path.is_dir() or (os.access(path, os.X_OK) and path.suffix != ".so") else 0o644
            )
        os.utime(path, (timestamp, timestamp), follow_symlinks=False)


def compress(path: Path, data: bytes) -> None:
    """Write data with gzip, without a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0))


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _units(site: Path) -> dict[str, str]:
    """Return the units as the packaged Clusterwright renders them."""
    program = "import json, sys; from clusterwright.provision.packaged_units import packaged_units as units"
    output = _python(
        site, "-c", f"{program}; print(json.dumps(units(*sys.argv[1:])))", "/usr/bin/wright", f"/{SITE}"
    )
    units: dict[str, str] = json.loads(output)
    return units


def _python(site: Path, *arguments: str) -> str:
    """Return the output of a program that imports the packaged modules."""
    env = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=120).stdout
