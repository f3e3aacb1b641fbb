"""Makes a Python environment: `make_python.py FILE.json`, as the member of the team whose it is.

Each version lies in a folder of its own, and PATH is a link to the newest that was made whole: jobs that run keep the
one they began with, and packages that cannot be had leave all as it was.
"""

import hashlib
import json
import os
import shutil
import sys
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import replace_link

Wanted = Dict[str, Any]


def main() -> int:
    """Make it, unless it is there."""
    with open(sys.argv[1]) as file:
        wanted = json.load(file)  # type: Wanted
    os.umask(0o002)
    path, missing = wanted["path"], unreadable(wanted)
    if missing:
        return refuse(wanted, "%s cannot be read: %s" % (wanted["requirements"], missing))
    folder = "%s.versions/%s" % (path, digest(wanted))
    if os.path.exists(folder + "/complete"):
        replace_link(path, folder)
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    for argv in commands(wanted, folder):
        if processes.start(argv).wait() != 0:
            shutil.rmtree(folder, ignore_errors=True)
            return refuse(wanted, "`%s` failed" % " ".join(argv))
    with open(folder + "/complete", "w"):
        pass
    replace_link(path, folder)
    return 0


def refuse(wanted: Wanted, why: str) -> int:
    """The last words of the unit, which `apply` shows."""
    sys.stderr.write("environment `%s`: %s; what was there before stays\n" % (wanted["name"], why))
    return 1


def unreadable(wanted: Wanted) -> str:
    """What is in the way of the file of packages."""
    try:
        with open(wanted["requirements"] or os.devnull):
            return ""
    except OSError as why:
        return str(why.strerror)


def digest(wanted: Wanted) -> str:
    """Another for any change of what is asked for, also inside the file of packages."""
    told = {name: wanted[name] for name in ("kind", "program", "packages", "requirements", "wheels")}
    text = json.dumps(told, sort_keys=True)
    if wanted["requirements"]:
        with open(wanted["requirements"]) as file:
            text += file.read()
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def commands(wanted: Wanted, folder: str) -> List[List[str]]:
    """What makes it, and fills it."""
    packages = list(wanted["packages"])
    if wanted["kind"] == "conda":
        listed = ["--file", wanted["requirements"]] if wanted["requirements"] else []
        return [[wanted["program"], "create", "--yes", "--quiet", "--prefix", folder] + listed + packages]
    made = [[wanted["program"], "-m", "venv", folder]]
    listed = ["--requirement", wanted["requirements"]] if wanted["requirements"] else []
    offline = ["--no-index", "--find-links", wanted["wheels"]] if wanted["wheels"] else []
    pip = [
        folder + "/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    return made + ([pip + offline + listed + packages] if listed or packages else [])


if __name__ == "__main__":
    sys.exit(main())
