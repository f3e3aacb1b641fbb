"""Other people on this machine: the names of users with processes."""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from pathlib import Path

FIRST_UID = 1000  # ids below are of system accounts (Debian Policy 9.2.2, login.defs of EL)
NOT_PEOPLE = range(61184, 65536)  # systemd's dynamic users, and nobody (systemd, UIDS-GIDS.md)


def other_users(proc: Path = Path("/proc")) -> list[str]:
    """Return the names of other people with processes here, sorted; none where /proc hides or lacks them."""
    uids = set()
    with suppress(FileNotFoundError):
        for entry in os.scandir(proc):
            with suppress(OSError):  # the process has ended
                uids.add(entry.stat(follow_symlinks=False).st_uid if entry.name.isdecimal() else os.geteuid())
    names = set()
    for uid in uids - {os.geteuid()}:
        with suppress(KeyError):  # of a container
            if uid >= FIRST_UID and uid not in NOT_PEOPLE:
                names.add(pwd.getpwuid(uid).pw_name)
    return sorted(names)
