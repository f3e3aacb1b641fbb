"""`python tools/packages WHEEL OUT`: the executable, the .deb and the .rpm of a wheel.

`SOURCE_DATE_EPOCH` is the time of the commit. Without dpkg-deb or rpmbuild, that package is left out with a warning.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deb import build_deb
from rpm import build_rpm
from site_packages import build_site_packages
from tree import build_tree

BUILDERS = {"dpkg-deb": build_deb, "rpmbuild": build_rpm}


def main(wheel: Path, out: Path, timestamp: int) -> None:
    """Write wright.pyz and the packages to the folder `out`."""
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as temporary:
        modules = Path(temporary) / "site-packages"
        build_site_packages(wheel, modules)
        shiv = [*("shiv", "--reproducible", "--compressed", "-c", "wright"), "-p", "/usr/bin/env python3"]
        command = [sys.executable, "-m", *shiv, "--site-packages", modules, "-o", out / "wright.pyz"]
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
        for program, build in BUILDERS.items():
            if not shutil.which(program):
                sys.stderr.write(f"dist: there is no {program} here, so its package is not built\n")
                continue
            tree = Path(temporary) / program
            build_tree(modules, tree)
            build(tree, version, timestamp, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(os.environ["SOURCE_DATE_EPOCH"]))
