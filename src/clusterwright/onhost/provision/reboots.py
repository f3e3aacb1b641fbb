"""Records whether a host needs a reboot for changes that take effect at the next boot.

Standard library only, Python 3.6 or later. Written before the change, so that an interrupted apply counts too;
any reboot clears it.
"""

from typing import List

from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, Json, LocalHost, read
from clusterwright.onhost.provision.state_files import REBOOT

OWED = STATE + "/reboot.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
COST = "reboot"


def boot_id() -> str:
    """Return the kernel's boot id, new after each boot."""
    return (read(BOOT_ID) or b"").decode().strip()


def owed(host: LocalHost) -> List[str]:
    """Return the ids of changes that take effect at the next boot; none after a reboot."""
    note = host.load(REBOOT, OWED, "reboot the host if a change waits for it")
    return list(note["for"]) if note.get("boot") == boot_id() else []


def owe(host: LocalHost, change: Json) -> None:
    """Record, before a change of cost `reboot` is made, that the host needs a reboot; ignore any other change."""
    if change["cost"] == COST:
        names = [*owed(host), change["id"]]
        note = {"boot": boot_id(), "for": list(dict.fromkeys(names))}
        write_private(host.resolve_path(OWED), REBOOT.dump(note).encode())
