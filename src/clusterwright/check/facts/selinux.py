"""The SELinux mode."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_MODES = ("enforcing", "permissive", "disabled")


@dataclass(frozen=True, slots=True)
class Selinux:
    """The current mode, and the one after the next boot."""

    now: str
    configured: str


@fact("sestatus")
def selinux(out: str) -> Selinux:
    """The current and configured SELinux mode; permissive domains are not reported."""
    rows = dict(line.split(":", 1) for line in out.splitlines() if ":" in line)
    values = {key: value.strip() for key, value in rows.items()}
    if values["SELinux status"] == "disabled":
        return Selinux("disabled", values.get("Mode from config file", "disabled"))
    result = Selinux(values["Current mode"], values["Mode from config file"])
    if result.now not in _MODES:
        raise ValueError(out)
    return result
