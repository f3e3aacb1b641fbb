"""The user's secrets: names and values in a file that only the user can read, never in a script."""

from __future__ import annotations

import os
import stat

SECRETS_FILE = "~/.config/clusterwright/secrets.env"


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
