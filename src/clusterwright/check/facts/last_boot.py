"""When the host was booted, and whether it shut down properly before."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.journal import of_systemd, shell

_JOURNAL = shell(
    of_systemd("-b", "-1", "-n", "40", "-o", "cat")
)  # a user could log the end of a clean shutdown
_COMMAND = f"cat /proc/uptime; {_JOURNAL} 2>/dev/null; echo END"
# Last messages of systemd and its journal in a clean shutdown.
_ORDERLY = (
    "Journal stopped",
    "Shutting down",
    "Reached target",
    "systemd-shutdown",
    "Syncing filesystems",
    "Powering off",
)


@dataclass(frozen=True, slots=True)
class LastBoot:
    """Seconds since boot; whether the previous boot ended with a clean shutdown, None without its journal."""

    up_s: float
    orderly: bool | None


@fact("sh", "-c", _COMMAND, permission="journal")
def last_boot(out: str) -> LastBoot:
    """Uptime, and the last journal lines of the previous boot.

    They tell whether it ended with a clean shutdown; None without them.
    """
    uptime, *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    up_s, _idle = map(float, uptime.split())
    text = "\n".join(lines)
    return LastBoot(up_s, any(phrase in text for phrase in _ORDERLY) if lines else None)
