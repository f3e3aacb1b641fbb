"""What SELinux does."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_MODES = ("enforcing", "permissive", "disabled")


@dataclass(frozen=True, slots=True)
class Selinux:
    """The mode now, and the one after the next boot."""

    now: str
    configured: str


@fact("sestatus")
def selinux(out: str) -> Selinux:
    """Enforcing, permissive or disabled; blind to single domains that are permissive."""
    rows = dict(line.split(":", 1) for line in out.splitlines() if ":" in line)
    said = {key: value.strip() for key, value in rows.items()}
    if said["SELinux status"] == "disabled":
        return Selinux("disabled", said.get("Mode from config file", "disabled"))
    found = Selinux(said["Current mode"], said["Mode from config file"])
    if found.now not in _MODES:
        raise ValueError(out)
    return found
