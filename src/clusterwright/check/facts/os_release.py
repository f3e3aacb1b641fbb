"""The operating system and its release."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("cat", "/etc/os-release")
def os_release(out: str) -> str:
    """ID and version as in the cluster file: `debian-12`; of Rocky and Alma only the major version."""
    values = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    name, version = values["ID"].strip('"'), values["VERSION_ID"].strip('"')
    name = {"almalinux": "alma"}.get(name, name)
    return f"{name}-{version.split('.')[0] if name in ('rocky', 'alma') else version}"
