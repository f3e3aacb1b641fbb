"""The fault domain of a failed change (the change, or this host) and its fix.

Standard library only, Python 3.6 or later. A faulty change would fail on the next host too, so the apply stops;
a fault of one host does not delay the others.
"""

import errno
import os
import re
from typing import Iterator, List, Optional, Tuple

from clusterwright.onhost.provision.host import ChangeError, LocalHost, read

FULL = "free space on it (`df -h`, `journalctl --vacuum-size=200M`), then run apply again"
LOCKED = re.compile(
    r"Could not get lock|another process is using|Waiting for process with pid|database is locked"
)
LOCKED_FIX = "another program installs packages on this host. Run apply again when it has ended"
READ_ONLY = (
    "the kernel remounts a failed disk read-only (`dmesg`). Fix it, mount it writable, then run apply again"
)
# slurmd's messages (gres.c): only this host lacks the device
LOST_GPU = re.compile(r"Waiting for gres\.conf file (\S+)|can't stat gres\.conf file (\S+?):?(?:\s|$)")
LOST_GPU_FIX = "a GPU of this host is missing. Read `nvidia-smi` and `dmesg`, repair it, then run apply again"
WRITTEN = ("/etc", "/var", "/usr", "/opt", "/")  # where an apply writes


def explain_error(host: LocalHost, reason: Exception) -> Tuple[str, str]:
    """Return the text of a change's error with its fix, and its fault domain: `host` or `change`."""
    message = str(reason)
    number = next((cause.errno for cause in causes(reason) if isinstance(cause, OSError)), None)
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
    return message, reason.fault_domain if isinstance(reason, ChangeError) else "host"


def causes(reason: Optional[BaseException]) -> Iterator[BaseException]:
    """Yield the error and its chain of causes."""
    while reason is not None:
        yield reason
        reason = reason.__cause__


def disks(host: LocalHost) -> List[str]:
    """Return what is wrong with the file systems that an apply writes to: read-only, full, or without inodes.

    Paths that do not exist are left out; each file system has one line.
    """
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
            problems[device] = (
                f"the disk of {path} has no inodes left. Remove files on it, then run apply again"
            )
    return list(problems.values())


def system(host: LocalHost) -> str:
    """Return the host's system as cluster files name it (`rocky-9`), else ID-VERSION of os-release, or ""."""
    text = (read(host.resolve_path("/etc/os-release")) or b"").decode(errors="replace")
    rows = dict(re.findall(r"(?m)^(ID|VERSION_ID)=\"?([^\"\n]*)", text))
    name, version = rows.get("ID", ""), rows.get("VERSION_ID", "")
    os_id = "-".join(part for part in (name, version) if part)
    names = host.bundle.get("os_names", {})
    return str(names.get(os_id) or names.get(os_id.split(".")[0], os_id))


def refuse_other_system(host: LocalHost) -> None:
    """Raise an error if the host runs another system than the file declares, or has state of a newer version."""
    if host.refusal:
        raise ChangeError(host.refusal, fault_domain="host")
    desired_os, has = host.bundle.get("os", ""), system(host)
    if desired_os and has != desired_os:
        raise ChangeError(
            f"the host runs {has or 'a system without /etc/os-release'}, the cluster file declares {desired_os}: "
            f"nothing was changed. Install {desired_os}, or correct `os` in the cluster file",
            fault_domain="host",
        )
