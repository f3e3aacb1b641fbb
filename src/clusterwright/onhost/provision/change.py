"""A change of a host: codes for the program in `verbs`, text for the reader in `what`, which no program reads.

Standard library only, Python 3.6 or later; the host and the machine that applies share it.
"""

import enum
from typing import Any, Dict


class Verb(str, enum.Enum):
    """What a change does; one change may do several things, in this order."""

    ADD = "add"  # a user or group
    COMPARE = "compare"  # rows that can be compared only once their daemon answers
    CREATE = "create"
    DAEMON_RELOAD = "daemon-reload"
    DISABLE = "disable"
    ENABLE = "enable"
    FORMAT = "format"
    HOLD = "hold"
    INSTALL = "install"
    LINK = "link"
    LOAD = "load"
    LOCK = "lock"
    MODIFY = "modify"
    RELOAD = "reload"
    REMOVE = "remove"
    REPLACE = "replace"  # the units named in `replaces`
    RESTART = "restart"
    RESTORE = "restore"
    REWRITE = "rewrite"
    SET = "set"
    SET_RIGHTS = "set-rights"
    START = "start"
    STOP = "stop"
    UPGRADE = "upgrade"


def new_change(change_id: str, *verbs: Verb, diff: str = "", cost: str = "live") -> Dict[str, Any]:
    """A change without its resource's id; `cost: live` costs running jobs nothing."""
    return {"what": change_id, "verbs": list(verbs), "diff": diff, "cost": cost}
