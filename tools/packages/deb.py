"""The Debian package, by dpkg-deb."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import textwrap
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from tree import HERE, NAME, compress, set_times

MAINTAINER = "Clusterwright contributors <contributors@clusterwright.invalid>"
SUMMARY = "plans, builds, verifies, runs and repairs GPU training clusters"
ABOUT = (
    "Clusterwright manages GPU clusters with Slurm from one file. The package has the command wright and, as systemd"
    " units that wait for their settings, the services of a control host: exporter of metrics, self-healing and"
    " notifications."
)
# The calls that dpkg makes: deb-postinst(5), deb-prerm(5), deb-postrm(5).
_SCRIPTS = {
    "postinst": 'if [ "$1" = configure ]; then\n  compile_modules\n  reload_units\n  [ -z "$2" ] || restart_units\nfi',
    "prerm": 'if [ "$1" = remove ]; then stop_packaged_units; fi\nremove_compiled_modules',
    "postrm": 'reload_units\nif [ "$1" = purge ]; then remove_state; fi',
}


def build_deb(tree: Path, version: str, timestamp: int, out: Path) -> Path:
    """Write the package of the files in `tree` to the folder `out`; `tree` gets what Debian adds to it."""
    full = f"{debian_version(version)}-1"
    architecture = _output("dpkg", "--print-architecture")
    docs = tree / "usr/share/doc" / NAME
    compress(docs / "changelog.Debian.gz", _changelog(full, timestamp).encode())
    shutil.copy(HERE / "copyright", docs / "copyright")
    overrides = tree / "usr/share/lintian/overrides" / NAME
    overrides.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "lintian-overrides", overrides)
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "md5sums").write_text(_checksums(tree))
    (control / "control").write_text(_control(full, architecture, _size_kib(tree)))
    functions = (HERE / "scripts" / "functions.sh").read_text()
    for name, commands in _SCRIPTS.items():
        (control / name).write_text(f"#!/bin/sh\nset -e\n{functions}\n{commands}\n")
        (control / name).chmod(0o755)
    set_times(tree, timestamp)
    file = out / f"{NAME}_{full}_{architecture}.deb"
    # One thread: more would split the archive by the number of processors.
    command = ("dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", str(tree), str(file))
    _output(*command, SOURCE_DATE_EPOCH=str(timestamp))
    return file


def debian_version(version: str) -> str:
    """Return a Python version in the form of Debian and RPM, where a development version precedes its release."""
    public, plus, local = version.partition("+")
    return re.sub(r"\.?(dev|a|b|rc)(\d)", r"~\1\2", public) + plus + local


def _control(version: str, architecture: str, size_kib: int) -> str:
    about = textwrap.fill(ABOUT, 78, initial_indent=" ", subsequent_indent=" ")
    return f"""Package: {NAME}
Version: {version}
Architecture: {architecture}
Maintainer: {MAINTAINER}
Installed-Size: {size_kib}
Depends: libc6 (>= 2.17), libgcc-s1, python3 (>= 3.11), python3 (<< 3.15)
Recommends: openssh-client
Suggests: prometheus, prometheus-alertmanager, python3-numpy
Section: admin
Priority: optional
Description: {SUMMARY}
{about}
"""


def _changelog(version: str, timestamp: int) -> str:
    moment = format_datetime(datetime.fromtimestamp(timestamp, UTC))
    return f"""{NAME} ({version}) unstable; urgency=medium

  * Release {version.rpartition("-")[0]}; changelog.gz lists the changes.

 -- {MAINTAINER}  {moment}
"""


def _checksums(tree: Path) -> str:
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    return "".join(
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(tree)}\n"
        for path in files
        if path.relative_to(tree).parts[0] != "DEBIAN"
    )


def _size_kib(tree: Path) -> int:
    """Return the installed size as Debian's policy counts it: each file in whole KiB, other entries 1 KiB."""
    entries = [path for path in tree.rglob("*") if path.relative_to(tree).parts[0] != "DEBIAN"]
    return sum(
        -(-path.stat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1 for path in entries
    )


def _output(*command: str, **environment: str) -> str:
    env = os.environ | environment
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=600)
    return done.stdout.strip()
