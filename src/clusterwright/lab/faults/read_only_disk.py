"""Read-only disk of a host, as ext4 leaves it after an error; undo makes it writable.

Files open for writing stay writable: a mount with writers cannot be made read-only, so one is mounted over it.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import kernel_messages
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True
FOLDERS = ("/etc", "/home", "/root", "/tmp", "/var")  # nosec B108 # noqa: S108 (the folder itself)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Make every folder that the host's programs write to read-only, and log it; return the lab's state."""
    for folder in FOLDERS:
        must(lab, host, "mount", "--bind", folder, folder)
        must(lab, host, "mount", "-o", "remount,bind,ro", folder)
    kernel_messages.write_kernel_message(lab, host, "EXT4-fs (vda1): Remounting filesystem read-only")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Make the host's folders writable again; return the lab's state.

    A host that has booted since the fault has them so already.
    """
    for folder in FOLDERS:
        inside(
            lab,
            host,
            "sh",
            "-c",
            f"findmnt -no OPTIONS {folder} | tail -1 | grep -q '^ro' && umount -l {folder}",
        )
    return lab
