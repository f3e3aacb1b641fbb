"""Lines of the kernel's log: what in them a user may have chosen, and addresses on PCI; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

WARNING = 4  # syslog(2): 4 is KERN_WARNING, lower is worse; a line without a priority has None
MINUTE_S, HOUR_S = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class KernelLine:
    """One log line: Unix time (or seconds since boot where only that is known), syslog priority, and text."""

    time_s: float
    priority: int | None
    text: str


# Lines in which the kernel quotes what any user chooses: names of processes, control groups and files.
_QUOTES_USER = re.compile(
    r"^(?:traps: )?.{1,15}\[\d+\]:? "
    r"|^.{1,15}(?: invoked oom-killer|: page allocation failure|: vmalloc| ?[(/]\d+\)?[: ])"
    r"|^(?:INFO: )?task[: ].{1,15}(?::\d+ | +state:)|^\[ *\d+\] +\d+ |^oom-kill:|^audit: |\bComm: "
    r"|\b(?:Killed|Kill) process \d+ |\b(?:process|warning:) ['`]|^(?:Memory cgroup|memory: usage|Tasks in) "
)


_BEGINS_WITH_PROCESS = re.compile(r"^(?:traps: )?.{1,15}(?:\[\d+\]:?| ?[(/]\d+\)?:?) ")


def begins_with_process(text: str) -> bool:
    """Return True for a line of the kernel that begins with the name of a process, which any user can choose."""
    return _BEGINS_WITH_PROCESS.search(text) is not None


def quotes_user(text: str) -> bool:
    """Return True for a line of the kernel that contains a text which any user can choose."""
    return _QUOTES_USER.search(text) is not None


_PCI = re.compile(r"(?:PCI:)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?", re.IGNORECASE)


def pci(text: str) -> str:
    """Normalize a PCI address to the kernel's form without the function: `0000:3b:00`; empty if it is not one."""
    match = _PCI.fullmatch(text.strip())
    if not match:
        return ""
    *domain, bus, device = match[1].lower().split(":")
    return f"{int(domain[0], 16) if domain else 0:04x}:{bus}:{device}"
