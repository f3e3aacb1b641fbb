"""A change of a host: `verbs` are codes for programs, `summary` is text for the reader that no program parses.

Standard library only, Python 3.6 or later; the host and the operator's machine share it.
"""

import enum
from typing import Any, Dict


class Verb(str, enum.Enum):
    """What a change does to its resource; a change may have several, in this order."""

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


def new_change(summary: str, *verbs: Verb, diff: str = "", cost: str = "live") -> Dict[str, Any]:
    """Return a change with its summary for the user and its verbs, to which the caller adds its resource's id.

    `cost` is its effect on running jobs.
    """
    return {"summary": summary, "verbs": list(verbs), "diff": diff, "cost": cost}
