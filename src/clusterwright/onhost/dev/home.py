"""The folder that a session may write to: the user's home if it has space, else a folder of its own."""

from __future__ import annotations

import os
import pwd
import tempfile
from typing import Dict, List, NamedTuple

_PROBE = b"\0" * 4096  # one block, since an empty file fits in a full quota


class Home(NamedTuple):
    """Where a session stores the user's files (`root`), its environment variables, and notes for the user."""

    root: str
    variables: Dict[str, str]
    notes: List[str]


def home(session: str) -> Home:
    """Return the user's home; if this host lacks it, the folder `home` beside the user's sessions, created if missing.

    If the home cannot be written to, Jupyter's own files go to the session's folder, and a note says so.
    """
    path = pwd.getpwuid(os.getuid()).pw_dir
    host = os.uname().nodename.partition(".")[0]
    if not os.path.isdir(path):
        ours = os.path.join(os.path.dirname(session), "home")
        os.makedirs(ours, mode=0o700, exist_ok=True)
        return Home(ours, {"HOME": ours}, [f"{host} has no {path}; files are stored in {ours}"])
    reason = unwritable(path)
    if not reason:
        return Home(path, {"HOME": path}, [])
    return Home(
        path,
        {"HOME": path, **_elsewhere(session)},
        [f"cannot write to {path} on {host}: {reason}; free space there, or choose another folder: --folder"],
    )


def unwritable(folder: str) -> str:
    """Return the error of writing a small file to the folder; empty if it works."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".wright-dev-") as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _elsewhere(session: str) -> Dict[str, str]:
    """Return variables that put Jupyter's own files, which it needs to start, into the session's folder."""
    names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "IPYTHONDIR": "ipython"}
    return {name: os.path.join(session, folder) for name, folder in names.items()}
