"""Whose fault it is when a change cannot be made: the change's, or this one host's; and the mend in words.

Standard library only, Python 3.6 or later. A change that is at fault would fail on the next host too, so an
apply stops; a host's own trouble holds up nobody else.
"""

import errno
import os
import re
from typing import Iterator, List, Optional, Tuple

from clusterwright.onhost.provision.host import ChangeError, Host, read

FULL = "free space there (`df -h`, `journalctl --vacuum-size=200M`), then run again"
LOCKED = re.compile(
    r"Could not get lock|another process is using|Waiting for process with pid|database is locked"
)
LOCKED_MEND = "another program installs packages there; when it has ended, run again"
READ_ONLY = "a disk that failed is mounted so (`dmesg`); mend it, mount it writable again, then run again"
# slurmd's own words (gres.c): no other host lacks this one's device
LOST_GPU = re.compile(r"Waiting for gres\.conf file (\S+)|can't stat gres\.conf file (\S+?):?(?:\s|$)")
LOST_GPU_MEND = (
    "a GPU of this host is not there; `nvidia-smi` and `dmesg` say why. When it is back, run again"
)
WRITTEN = ("/etc", "/var", "/usr", "/opt", "/")  # where an apply writes


def told(host: Host, why: Exception) -> Tuple[str, str]:
    """The error in words with its mend, and whose it is: `host` or `change`."""
    words = str(why)
    number = next((one.errno for one in causes(why) if isinstance(one, OSError)), None)
    if number == errno.EROFS:
        return f"{words}: {READ_ONLY}", "host"
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"{words}: the disk is full: {FULL}", "host"
    if LOCKED.search(words):
        return f"{words}\n{LOCKED_MEND}", "host"
    if LOST_GPU.search(words):
        return f"{words}\n{LOST_GPU_MEND}", "host"
    wrong = disks(host)
    if wrong:
        return f"{words}\n{'; '.join(wrong)}", "host"
    return words, why.blame if isinstance(why, ChangeError) else "host"


def causes(why: Optional[BaseException]) -> Iterator[BaseException]:
    """The error and what it was raised from."""
    while why is not None:
        yield why
        why = why.__cause__


def disks(host: Host) -> List[str]:
    """What is wrong with the file systems that an apply writes to."""
    found = {}
    for path in WRITTEN:
        try:
            device, disk = os.stat(host.at(path)).st_dev, os.statvfs(host.at(path))
        except OSError:
            continue
        if disk.f_flag & os.ST_RDONLY:
            found[device] = f"{path} is read-only: {READ_ONLY}"
        elif not disk.f_bavail:
            found[device] = f"the disk of {path} is full: {FULL}"
        elif disk.f_files and not disk.f_ffree:
            found[device] = f"the disk of {path} has no inodes left: remove files there, then run again"
    return list(found.values())


def system(host: Host) -> str:
    """As the cluster file names it, `rocky-9`; one that it cannot name by its own ID and version; or nothing."""
    text = (read(host.at("/etc/os-release")) or b"").decode(errors="replace")
    rows = dict(re.findall(r"(?m)^(ID|VERSION_ID)=\"?([^\"\n]*)", text))
    name, version = rows.get("ID", ""), rows.get("VERSION_ID", "")
    own = "-".join(part for part in (name, version) if part)
    names = host.bundle.get("os_names", {})
    return str(names.get(own) or names.get(own.split(".")[0], own))


def refuse_other_system(host: Host) -> None:
    """Nothing is changed on a host whose system is another than the file's."""
    wanted, has = host.bundle.get("os", ""), system(host)
    if wanted and has != wanted:
        raise ChangeError(
            f"it runs {has or 'a system without /etc/os-release'}, and the file says {wanted}: nothing was changed; "
            "install that system there, or correct `os` in the cluster file",
            blame="host",
        )
