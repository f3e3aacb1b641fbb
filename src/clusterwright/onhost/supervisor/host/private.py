"""What is the user's alone on a host: the file of secrets, and the cache of code that torch compiles."""

from __future__ import annotations

import contextlib
import getpass
import os
import stat
import tempfile
from typing import Mapping

from clusterwright.onhost.supervisor.job import SECRETS_FILE

_CACHE = "TORCHINDUCTOR_CACHE_DIR"


def secrets_of_user() -> dict[str, str]:
    """Return the names and values in the user's file of secrets; empty without a file.

    Raises:
        PermissionError: others can read the file.
    """
    path = os.path.expanduser(SECRETS_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise PermissionError(f"{path} can be read by others; chmod 600 {path}")
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value for name, _, value in pairs}


def compile_cache(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable of torch.compile's cache folder: torch's default if it is the user's alone.

    Else one in the home, else a new one: torch runs and unpickles what lies there, and another user could have
    created the default first. Empty if the variable is set.
    """
    if _CACHE in environ:
        return {}
    for base, name in ((tempfile.gettempdir(), f"torchinductor_{_user()}"), ("~/.cache", "torchinductor")):
        path = os.path.join(os.path.expanduser(base), name)
        with contextlib.suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
            status = os.lstat(path)
            is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if stat.S_ISDIR(status.st_mode) and is_private:
                return {_CACHE: path}
    return {_CACHE: tempfile.mkdtemp(prefix="torchinductor_")}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no account has this id
        return f"uid_{os.getuid()}"
