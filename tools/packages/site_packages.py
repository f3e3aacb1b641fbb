"""The folder of modules that the executable and the packages contain, the same files for the same commit."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LOCK = Path(__file__).with_name("requirements.lock")
PYTHONS = (
    "3.11",
    "3.12",
    "3.13",
    "3.14",
)  # compiled modules of each lie side by side, under names of their own
# Of pip's notes on an installation, RECORD and direct_url.json name files of the machine that built it.
_NOTES = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")


def build_site_packages(wheel: Path, folder: Path, pythons: tuple[str, ...] = PYTHONS) -> None:
    """Fill `folder` with the wheel and the packages of requirements.lock, for each Python."""
    for python in pythons:
        with tempfile.TemporaryDirectory() as temporary:
            _install(Path(temporary), python)
            shutil.rmtree(Path(temporary) / "bin", ignore_errors=True)
            shutil.copytree(temporary, folder, dirs_exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        data = f"{wheel.name.partition('-py3-')[0]}.data/"  # man pages, which tree.py takes from docs
        archive.extractall(folder, [name for name in archive.namelist() if not name.startswith(data)])
    for notes in folder.glob("*.dist-info"):
        for name in _NOTES:
            (notes / name).unlink(missing_ok=True)


def _install(folder: Path, python: str) -> None:
    """Install the packages of requirements.lock for another Python; pip compares each file with its checksum."""
    glibc = [f"--platform=manylinux{level}_{platform.machine()}" for level in ("2014", "_2_17", "_2_28")]
    command = [
        *(
            sys.executable,
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
            "--no-compile",
            "--no-deps",
        ),
        *("--require-hashes", "--only-binary=:all:", "--python-version", python, *glibc),
        *("--target", str(folder), "-r", str(LOCK)),
    ]
    subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
