"""Nothing can be written on a host's disk any longer, as ext4 leaves it after an error; undo takes that back.

Files that were open for writing stay so: a mount with writers cannot be made read-only, so one is laid over it.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import kernel_messages
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True
FOLDERS = ("/etc", "/home", "/root", "/tmp", "/var")  # noqa: S108 (the folder itself)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Every folder that programs write to; the kernel says so, too."""
    for folder in FOLDERS:
        must(lab, host, "mount", "--bind", folder, folder)
        must(lab, host, "mount", "-o", "remount,bind,ro", folder)
    kernel_messages.write_kernel_message(lab, host, "EXT4-fs (vda1): Remounting filesystem read-only")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """It can be written again; a host that was booted meanwhile has it so."""
    for folder in FOLDERS:
        inside(
            lab,
            host,
            "sh",
            "-c",
            f"findmnt -no OPTIONS {folder} | tail -1 | grep -q '^ro' && umount -l {folder}",
        )
    return lab
