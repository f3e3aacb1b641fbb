"""When the host was booted, and how it went down before."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_COMMAND = "cat /proc/uptime; journalctl -b -1 -q -n 40 -o cat --no-pager 2>/dev/null; echo END"
# What systemd and its journal say last when a system is shut down in order.
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
    """Seconds since boot; whether the boot before ended in order, None where no journal of it is kept."""

    up_s: float
    orderly: bool | None


@fact("sh", "-c", _COMMAND)
def last_boot(out: str) -> LastBoot:
    """Uptime, and the last lines of the journal of the boot before this one."""
    uptime, *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    up_s, _idle = map(float, uptime.split())
    text = "\n".join(lines)
    return LastBoot(up_s, any(phrase in text for phrase in _ORDERLY) if lines else None)
