"""The operating system and its release."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.platforms import names_by_os_release


@fact("cat", "/etc/os-release")
def os_release(out: str) -> str:
    """Name of the system as in the cluster file (`debian-12`); an unsupported system by its ID and version."""
    values = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    name = f"{values['ID']}-{values['VERSION_ID']}".replace('"', "")
    names = names_by_os_release()
    return names.get(name) or names.get(name.split(".")[0], name)
