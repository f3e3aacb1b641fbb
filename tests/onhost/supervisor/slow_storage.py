"""A shared folder that is slow: as sitecustomize.py of a Python, it delays the calls of supervisors and agents there.

Each call that names a file of a run's folder takes the seconds that the file `slow` beside that folder has.
"""

import builtins
import os
import sys
import time
from pathlib import Path

PROGRAMS = ("supervisor.supervisor", "supervisor.node", "supervisor.failover_supervisor")
CALLS = ("open", "stat", "listdir", "mkdir", "rename", "replace", "unlink")
FILE = "slow"


def install(folder):
    """Put this module beside the run's folder, where its programs find it."""
    (folder / "sitecustomize.py").write_text(f"{Path(__file__).read_text()}\ndelay({str(folder)!r})\n")


def set_delay(folder, seconds):
    """Let each call take so long from now on."""
    partial = folder / f"{FILE}.new"
    partial.write_text(str(seconds))
    partial.replace(folder / FILE)


def delay(folder):
    """Delay the calls of this process if it is a supervisor or an agent."""
    if not any(word.endswith(PROGRAMS) for word in sys.orig_argv):
        return
    for name in CALLS:
        setattr(os, name, delayed(getattr(os, name), folder, open))
    builtins.open = delayed(open, folder, open)


def delayed(call, folder, real_open):
    """Return the call, which waits first if it names a file in one of the folder's subfolders."""

    def wait_and_call(path, *arguments, **options):
        text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        if text.startswith(f"{folder}/") and "/" in text.removeprefix(f"{folder}/"):
            with real_open(f"{folder}/{FILE}") as file:
                seconds = float(file.read())
            time.sleep(seconds)
        return call(path, *arguments, **options)

    return wait_and_call
