"""Builds a Python environment as a member of the team that owns it: `make_python.py FILE.json`.

Each version has its own folder, and PATH links to the newest complete one: running jobs keep their version, and a
failed build changes nothing.
"""

import hashlib
import json
import os
import shutil
import sys
from contextlib import suppress
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import replace_link

Spec = Dict[str, Any]


def main() -> int:
    """Build the requested version of the Python environment unless it exists, and point the link `path` to it.

    Return 0. Refused, with exit code 1, if the requirements cannot be read, another user owns the folders, or a
    command fails; the link stays as it was.
    """
    with open(sys.argv[1]) as file:
        spec = json.load(file)  # type: Spec
    os.umask(0o002)
    path, missing = spec["path"], unreadable(spec)
    if missing:
        return refuse(spec, "%s cannot be read: %s" % (spec["requirements"], missing))
    with suppress(FileExistsError):  # before anything else: later, another user could create it meanwhile
        os.mkdir(path + ".versions")
    owner = foreign_owner(path, path + ".versions")
    if owner:
        return refuse(spec, owner)
    folder = "%s.versions/%s" % (path, digest(spec))
    if os.path.exists(folder + "/complete"):
        replace_link(path, folder)
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    for argv in commands(spec, folder):
        if processes.start(argv).wait() != 0:
            shutil.rmtree(folder, ignore_errors=True)
            return refuse(spec, "`%s` failed" % " ".join(argv))
    with open(folder + "/complete", "w"):
        pass
    replace_link(path, folder)
    return 0


def refuse(spec: Spec, reason: str) -> int:
    """Print why an environment is not built to stderr, the unit's log, from which `apply` shows it; return 1."""
    sys.stderr.write("environment `%s`: %s; the previous version stays\n" % (spec["name"], reason))
    return 1


def foreign_owner(*paths: str) -> str:
    """Return an error if another user than root or this one created one of the paths first; else "".

    All users may create entries beside the environment; the owner of a folder chooses what lies in it.
    """
    for path in paths:
        try:
            uid = os.lstat(path).st_uid
        except FileNotFoundError:
            continue
        if uid not in (0, os.geteuid()):
            return (
                "%s belongs to user id %d, not to the user who builds it: remove it, or set that user as `owner`"
                % (
                    path,
                    uid,
                )
            )
    return ""


def unreadable(spec: Spec) -> str:
    """Return the error of opening the requirements file; "" if it can be read or none is set."""
    try:
        with open(spec["requirements"] or os.devnull):
            return ""
    except OSError as error:
        return str(error.strerror)


def digest(spec: Spec) -> str:
    """Return a hash of everything that an environment's spec requests, its requirements file's text included."""
    identity = {name: spec[name] for name in ("kind", "program", "packages", "requirements", "wheels")}
    text = json.dumps(identity, sort_keys=True)
    if spec["requirements"]:
        with open(spec["requirements"]) as file:
            text += file.read()
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def commands(spec: Spec, folder: str) -> List[List[str]]:
    """Return the commands that create the environment and install its packages, if it has any.

    With `wheels`, pip installs from that folder only.
    """
    packages = list(spec["packages"])
    if spec["kind"] == "conda":
        listed = ["--file", spec["requirements"]] if spec["requirements"] else []
        return [[spec["program"], "create", "--yes", "--quiet", "--prefix", folder] + listed + packages]
    create_commands = [[spec["program"], "-m", "venv", folder]]
    listed = ["--requirement", spec["requirements"]] if spec["requirements"] else []
    offline = ["--no-index", "--find-links", spec["wheels"]] if spec["wheels"] else []
    pip = [
        folder + "/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    return create_commands + ([pip + offline + listed + packages] if listed or packages else [])


if __name__ == "__main__":
    sys.exit(main())
