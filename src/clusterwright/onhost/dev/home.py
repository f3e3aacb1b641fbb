"""Where a session may write: the user's home, if there is one with room, else a folder of its own."""

from __future__ import annotations

import os
import pwd
import tempfile
from typing import Dict, List, NamedTuple

_PROBE = b"\0" * 4096  # a block: an empty file fits in a full quota


class Home(NamedTuple):
    """Where notebooks are, what the processes are told, and what the user should know."""

    root: str
    variables: Dict[str, str]
    notes: List[str]


def home(session: str) -> Home:
    """The user's own home; without one, `home` beside the sessions, which stays."""
    path = pwd.getpwuid(os.getuid()).pw_dir
    host = os.uname().nodename.partition(".")[0]
    if not os.path.isdir(path):
        ours = os.path.join(os.path.dirname(session), "home")
        os.makedirs(ours, mode=0o700, exist_ok=True)
        return Home(ours, {"HOME": ours}, [f"{path} is not there on {host}; files are kept in {ours}"])
    reason = unwritable(path)
    if not reason:
        return Home(path, {"HOME": path}, [])
    return Home(
        path,
        {"HOME": path, **_elsewhere(session)},
        [
            f"nothing can be written to {path} on {host}: {reason}; make room there, or name another place: --folder"
        ],
    )


def unwritable(folder: str) -> str:
    """What the system says of a small file there; empty when it takes it."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".wright-dev-") as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _elsewhere(session: str) -> Dict[str, str]:
    """Jupyter begins only where it can write its own files; these end with the session."""
    names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "IPYTHONDIR": "ipython"}
    return {name: os.path.join(session, folder) for name, folder in names.items()}
