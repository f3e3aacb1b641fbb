"""Mount points: checks that a mount hides no files, and that an existing mount is the expected one.

Standard library only, Python 3.6 or later. Changes nothing: the unit mounts.
"""

import os
import re
from typing import List, Optional, Tuple

from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, read

MAX_NAMES = 5  # names in the error message


def check_mountpoint(host: LocalHost, resource: Json) -> None:
    """Raise an error if a mount would hide files or another mount; add a note for options that the kernel lacks."""
    path = resource["path"]
    current_mount = mounted_at(host, path)
    if current_mount is None:
        refuse_files(host, path)
    elif not os.path.exists(host.resolve_path(resource["unit"])) and not is_expected_mount(
        resource, current_mount
    ):
        raise ChangeError(
            f"{current_mount[0]} ({current_mount[1]}) is mounted on {path} "
            f"already, but not by an apply: mounting {resource['source']} "
            f"would hide it. Run `umount {path}` and remove it from /etc/fstab, or give the folder another path",
            "host",
        )
    note_kernel(host, resource)


def mounted_at(host: LocalHost, path: str) -> Optional[Tuple[str, str]]:
    """Return source and type of the mount at the path, the last one of several; None if nothing is mounted there."""
    mount = None
    for line in (read(host.resolve_path("/proc/self/mounts")) or b"").decode(errors="replace").splitlines():
        source, mount_path, kind = (unescape(field) for field in line.split()[:3])
        if mount_path == path and kind != "autofs":
            mount = (source, kind)
    return mount


def unescape(field: str) -> str:
    r"""Return a field of /proc/mounts without escapes: `\040` is a space (proc(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def is_expected_mount(resource: Json, current_mount: Tuple[str, str]) -> bool:
    """Return True if the present mount is the desired one: the same type, and for NFS the same source.

    Other file systems have several names for one source. A bind mount or a device counts without comparison.
    """
    source, kind = current_mount
    if resource["type"] == "none" or resource["source"].startswith("/dev/"):
        return True
    same_kind = kind.rpartition(".")[2].rstrip("4") == resource["type"].rstrip("4")
    return same_kind and (source == resource["source"] or not resource["type"].startswith("nfs"))


def refuse_files(host: LocalHost, path: str) -> None:
    """Do nothing if the folder, which a mount would hide, is empty or missing.

    Raises:
        ChangeError: it has content.
    """
    try:
        names = sorted(os.listdir(host.resolve_path(path)))
    except FileNotFoundError:
        return
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if names[MAX_NAMES:] else ""
        raise ChangeError(
            f"{path} is not mounted and holds {', '.join(names[:MAX_NAMES])}{more}: "
            "a mount would hide them. Move them away (into the file system, if they were written while it was "
            "not mounted), then run apply again",
            "host",
        )


def note_kernel(host: LocalHost, resource: Json) -> None:
    """Add a note to the host for each mount option of the resource that its kernel is too old for."""
    for option, min_version in resource["kernels"].items():
        release = os.uname().release
        if version_of(release) < version_of(min_version):
            host.notes.append(
                f"{resource['path']}: Linux {release} does not support {option} (since {min_version}), "
                "so the mount fails. Install a newer kernel, or remove it from the folder's options"
            )


def version_of(text: str) -> List[int]:
    """Return the first two numbers of a kernel release, [0] if it has none."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return [int(match.group(1)), int(match.group(2))] if match else [0]
