"""Whether this host owes a reboot: something was changed that counts from the next boot on.

Standard library only, Python 3.6 or later. Noted before the change is made, so that an apply that was cut short
owes it too; any reboot, by whomever, settles it.
"""

import json
from typing import List

from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, Host, Json, read

OWED = STATE + "/reboot.json"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
COST = "reboot"


def boot_id() -> str:
    """Another after each boot."""
    return (read(BOOT_ID) or b"").decode().strip()


def owed(host: Host) -> List[str]:
    """The changes that wait for a reboot; none once the host has been booted since."""
    text = read(host.resolve_path(OWED))
    note = json.loads(text.decode()) if text else {}  # type: Json
    return list(note["for"]) if note.get("boot") == boot_id() else []


def owe(host: Host, change: Json) -> None:
    """The change, which is about to be made, wants a reboot."""
    if change["cost"] == COST:
        names = [*owed(host), change["id"]]
        note = {"boot": boot_id(), "for": list(dict.fromkeys(names))}
        write_private(host.resolve_path(OWED), json.dumps(note).encode())
