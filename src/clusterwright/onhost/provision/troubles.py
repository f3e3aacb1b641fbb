"""Whose fault it is when a change cannot be made: the change's, or this one host's; and the fix in words.

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
LOCKED_FIX = "another program installs packages there; when it has ended, run again"
READ_ONLY = "a disk that failed is mounted so (`dmesg`); fix it, mount it writable again, then run again"
# slurmd's own words (gres.c): no other host lacks this one's device
LOST_GPU = re.compile(r"Waiting for gres\.conf file (\S+)|can't stat gres\.conf file (\S+?):?(?:\s|$)")
LOST_GPU_FIX = "a GPU of this host is not there; `nvidia-smi` and `dmesg` say why. When it is back, run again"
WRITTEN = ("/etc", "/var", "/usr", "/opt", "/")  # where an apply writes


def explain_error(host: Host, why: Exception) -> Tuple[str, str]:
    """The error in words with its fix, and whose it is: `host` or `change`."""
    message = str(why)
    number = next((cause.errno for cause in causes(why) if isinstance(cause, OSError)), None)
    if number == errno.EROFS:
        return f"{message}: {READ_ONLY}", "host"
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"{message}: the disk is full: {FULL}", "host"
    if LOCKED.search(message):
        return f"{message}\n{LOCKED_FIX}", "host"
    if LOST_GPU.search(message):
        return f"{message}\n{LOST_GPU_FIX}", "host"
    wrong = disks(host)
    if wrong:
        return f"{message}\n{'; '.join(wrong)}", "host"
    return message, why.blame if isinstance(why, ChangeError) else "host"


def causes(reason: Optional[BaseException]) -> Iterator[BaseException]:
    """The error and what it was raised from."""
    while reason is not None:
        yield reason
        reason = reason.__cause__


def disks(host: Host) -> List[str]:
    """What is wrong with the file systems that an apply writes to."""
    problems = {}
    for path in WRITTEN:
        try:
            device, disk = os.stat(host.resolve_path(path)).st_dev, os.statvfs(host.resolve_path(path))
        except OSError:
            continue
        if disk.f_flag & os.ST_RDONLY:
            problems[device] = f"{path} is read-only: {READ_ONLY}"
        elif not disk.f_bavail:
            problems[device] = f"the disk of {path} is full: {FULL}"
        elif disk.f_files and not disk.f_ffree:
            problems[device] = f"the disk of {path} has no inodes left: remove files there, then run again"
    return list(problems.values())


def system(host: Host) -> str:
    """As the cluster file names it, `rocky-9`; one that it cannot name by its own ID and version; or nothing."""
    text = (read(host.resolve_path("/etc/os-release")) or b"").decode(errors="replace")
    rows = dict(re.findall(r"(?m)^(ID|VERSION_ID)=\"?([^\"\n]*)", text))
    name, version = rows.get("ID", ""), rows.get("VERSION_ID", "")
    os_id = "-".join(part for part in (name, version) if part)
    names = host.bundle.get("os_names", {})
    return str(names.get(os_id) or names.get(os_id.split(".")[0], os_id))


def refuse_other_system(host: Host) -> None:
    """Nothing is changed on a host whose system is another than the file's."""
    desired_os, has = host.bundle.get("os", ""), system(host)
    if desired_os and has != desired_os:
        raise ChangeError(
            f"it runs {has or 'a system without /etc/os-release'}, and "
            f"the file says {desired_os}: nothing was changed; "
            "install that system there, or correct `os` in the cluster file",
            fault_domain="host",
        )
