"""Where something is to be mounted: nothing that lies there is hidden, and what is mounted there is what we mean.

Standard library only, Python 3.6 or later. Nothing is changed here: the unit mounts.
"""

import os
import re
from typing import List, Optional, Tuple

from clusterwright.onhost.provision.host import ChangeError, Host, Json, read

SHOWN = 5  # names of what would be hidden


def look_mountpoint(host: Host, resource: Json) -> None:
    """Refused where it would hide something; a kernel that cannot do all that the options ask is a note."""
    path = resource["path"]
    there = mounted_at(host, path)
    if there is None:
        refuse_files(host, path)
    elif not os.path.exists(host.at(resource["unit"])) and not is_meant(resource, there):
        raise ChangeError(
            f"{there[0]} ({there[1]}) is mounted on {path} already, by another hand: mounting {resource['what']} "
            f"over it would hide it. `umount {path}` and take it out of /etc/fstab, or give the folder another path",
            "host",
        )
    note_kernel(host, resource)


def mounted_at(host: Host, path: str) -> Optional[Tuple[str, str]]:
    """Source and kind of what is mounted there; of several over each other the last, which is the one seen."""
    found = None
    for line in (read(host.at("/proc/self/mounts")) or b"").decode(errors="replace").splitlines():
        source, place, kind = (plain(word) for word in line.split()[:3])
        if place == path and kind != "autofs":
            found = (source, kind)
    return found


def plain(word: str) -> str:
    r"""A word of the table as it is meant: `\040` is a space (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), word)


def is_meant(resource: Json, there: Tuple[str, str]) -> bool:
    """The same kind, and of NFS the same source; devices, and servers of other kinds, go by several names."""
    source, kind = there
    if resource["type"] == "none" or resource["what"].startswith("/dev/"):
        return True
    same_kind = kind.rpartition(".")[2].rstrip("4") == resource["type"].rstrip("4")
    return same_kind and (source == resource["what"] or not resource["type"].startswith("nfs"))


def refuse_files(host: Host, path: str) -> None:
    """A folder that is no mount yet is empty, or not there."""
    try:
        names = sorted(os.listdir(host.at(path)))
    except FileNotFoundError:
        return
    if names:
        more = f" and {len(names) - SHOWN} more" if names[SHOWN:] else ""
        raise ChangeError(
            f"{path} is no mount here and holds {', '.join(names[:SHOWN])}{more}: a mount would hide them. Move them "
            "away (into what is to be mounted, if they were written while it was not), then run again",
            "host",
        )


def note_kernel(host: Host, resource: Json) -> None:
    """An option that the kernel is too old for."""
    for option, since in resource["kernels"].items():
        release = os.uname().release
        if version_of(release) < version_of(since):
            host.notes.append(
                f"{resource['path']}: Linux {release} knows no {option} (since {since}), and mount would refuse it: "
                "a newer kernel, or take it out of the folder's options"
            )


def version_of(text: str) -> List[int]:
    """`5.10.0-28-amd64` as numbers that compare, as far as they are numbers."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return [int(found.group(1)), int(found.group(2))] if found else [0]
