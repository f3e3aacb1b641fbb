"""Where something is to be mounted: nothing that lies there is hidden, and what is mounted there is what we mean.

Standard library only, Python 3.6 or later. Nothing is changed here: the unit mounts.
"""

import os
import re
from typing import List, Optional, Tuple

from clusterwright.onhost.provision.host import ChangeError, Host, Json, read

MAX_NAMES = 5  # names of what would be hidden


def check_mountpoint(host: Host, resource: Json) -> None:
    """Refused where it would hide something; a kernel that cannot do all that the options ask is a note."""
    path = resource["path"]
    current_mount = mounted_at(host, path)
    if current_mount is None:
        refuse_files(host, path)
    elif not os.path.exists(host.resolve_path(resource["unit"])) and not is_expected_mount(
        resource, current_mount
    ):
        raise ChangeError(
            f"{current_mount[0]} ({current_mount[1]}) is mounted on {path} "
            f"already, by another hand: mounting {resource['what']} "
            f"over it would hide it. `umount {path}` and take it out of /etc/fstab, or give the folder another path",
            "host",
        )
    note_kernel(host, resource)


def mounted_at(host: Host, path: str) -> Optional[Tuple[str, str]]:
    """Source and kind of what is mounted there; of several over each other the last, which is the one seen."""
    mount = None
    for line in (read(host.resolve_path("/proc/self/mounts")) or b"").decode(errors="replace").splitlines():
        source, mount_path, kind = (unescape(field) for field in line.split()[:3])
        if mount_path == path and kind != "autofs":
            mount = (source, kind)
    return mount


def unescape(field: str) -> str:
    r"""A word of the table as it is meant: `\040` is a space (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def is_expected_mount(resource: Json, current_mount: Tuple[str, str]) -> bool:
    """The same kind, and of NFS the same source; devices, and servers of other kinds, go by several names."""
    source, kind = current_mount
    if resource["type"] == "none" or resource["what"].startswith("/dev/"):
        return True
    same_kind = kind.rpartition(".")[2].rstrip("4") == resource["type"].rstrip("4")
    return same_kind and (source == resource["what"] or not resource["type"].startswith("nfs"))


def refuse_files(host: Host, path: str) -> None:
    """A folder that is no mount yet is empty, or not there."""
    try:
        names = sorted(os.listdir(host.resolve_path(path)))
    except FileNotFoundError:
        return
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if names[MAX_NAMES:] else ""
        raise ChangeError(
            f"{path} is no mount here and holds {', '.join(names[:MAX_NAMES])}{more}: "
            "a mount would hide them. Move them "
            "away (into what is to be mounted, if they were written while it was not), then run again",
            "host",
        )


def note_kernel(host: Host, resource: Json) -> None:
    """An option that the kernel is too old for."""
    for option, min_version in resource["kernels"].items():
        release = os.uname().release
        if version_of(release) < version_of(min_version):
            host.notes.append(
                f"{resource['path']}: Linux {release} knows no {option} "
                f"(since {min_version}), and mount would refuse it: "
                "a newer kernel, or take it out of the folder's options"
            )


def version_of(text: str) -> List[int]:
    """`5.10.0-28-amd64` as numbers that compare, as far as they are numbers."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return [int(match.group(1)), int(match.group(2))] if match else [0]
