"""apt and dpkg: limits of time, the package lists, and interrupted installations.

Standard library only, Python 3.6 or later.
"""

import fcntl
import os
import struct
import time
from contextlib import suppress
from typing import Dict, List, Tuple

from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision.host import ChangeError, must, refuse_failed, run

INSTALL_S = 900  # to download packages
CONFIGURE_S = 3600  # for the scripts of packages: a driver package builds its module for minutes
LOCKED_S = 120  # the wait for another apt: unattended upgrades of a few packages take about a minute
APT = (
    *("-o", "Dpkg::Options::=--force-confold"),  # a file that was changed by hand stays, without a prompt
    *("-o", f"DPkg::Lock::Timeout={LOCKED_S}"),
    *("-o", "Dpkg::Use-Pty=0"),  # in a terminal of its own, dpkg would survive apt, and keep its lock
)
OPTIONS = ("--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades")
# Unpacked, half-configured, half-installed (dpkg-query(1)): an installation was interrupted.
INTERRUPTED = ("U", "F", "H")
REMOVED = ("r", "p")  # desired: to be removed, or purged
UPDATES = "/var/lib/dpkg/updates"  # of dpkg's status; numbered files stay if dpkg is killed
LOCK = "/var/lib/dpkg/lock-frontend"


def install(argv: List[str], *, refreshes: bool = False) -> None:
    """Download the packages of an `apt-get install` command within INSTALL_S, then install them within CONFIGURE_S.

    With `refreshes`, a failed download is repeated with new package lists. A slow server ends no dpkg: what SIGKILL
    leaves is not always repaired. If the scripts exceed their limit, the installation is completed at once.

    Raises:
        ChangeError: a command failed.
    """
    download = [*argv, "--download-only"]
    if not refreshes or not run(download, INSTALL_S).ok:
        if refreshes:
            refresh()
        must(download, INSTALL_S)
    result = run(argv, CONFIGURE_S)
    if result.stopped:
        complete_interrupted()
    refuse_failed(argv, result)


def is_busy() -> bool:
    """Return whether another apt holds its lock: what looks interrupted may be in progress.

    False if the lock file cannot be opened.
    """
    request = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)  # struct flock, fcntl(2)
    try:
        with open(LOCK, "rb") as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, request)
    except OSError:
        return False
    return bool(struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK)


def complete_interrupted() -> None:
    """Complete an interrupted installation, with time for a slow script of one of its packages.

    dpkg configures what is unpacked, and ignores what was interrupted before: that is installed again, or removed if
    its removal was interrupted.

    Raises:
        ChangeError: packages remain incomplete; the error names them.
    """
    if not was_interrupted():
        return
    results = [configure()]
    _configured, removals, halves = interrupted()
    if removals:
        results.append(run(["dpkg", "--remove", "--force-remove-reinstreq", *removals], CONFIGURE_S))
    if halves:
        results.append(reinstall(halves))
    if was_interrupted():
        remaining = ", ".join(interrupted_packages()) or f"what is in {UPDATES}"
        outputs = [result.out.strip() for result in results if not result.ok]
        last = "\n".join("\n".join(outputs).splitlines()[-8:])
        raise ChangeError(
            f"an interrupted installation remains, of {remaining}:\n{last}\nRun `dpkg --configure -a` on the host, "
            "and for packages that no repository has anymore `dpkg --remove --force-remove-reinstreq NAME`"
        )


def configure() -> Result:
    """Configure all unpacked packages and return dpkg's result; wait for the lock of another apt, as dpkg does not."""
    argv = ["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"]
    end = time.monotonic() + LOCKED_S
    while True:
        result = run(argv, CONFIGURE_S)
        if result.ok or "was locked by another process" not in result.out or time.monotonic() > end:
            return result
        time.sleep(1)


def reinstall(packages: Dict[str, str]) -> Result:
    """Install packages again in these versions, or in those that the repositories have now; return apt's result."""
    argv = ["apt-get", "install", "-y", "--reinstall", *OPTIONS, *APT]
    result = run([*argv, *(f"{name}={version}" for name, version in packages.items())], CONFIGURE_S)
    if not result.ok:
        with suppress(ChangeError):
            refresh()
        result = run([*argv, *packages], CONFIGURE_S)
    return result


def was_interrupted() -> bool:
    """Return True if apt refuses to download or install until dpkg has completed an interrupted installation."""
    updates = os.listdir(UPDATES) if os.path.isdir(UPDATES) else []
    return any(map(str.isdigit, updates)) or bool(interrupted_packages())


def interrupted_packages() -> List[str]:
    """Return the packages whose installation or removal was interrupted."""
    to_configure, removals, halves = interrupted()
    return [*to_configure, *removals, *halves]


def interrupted() -> Tuple[List[str], List[str], Dict[str, str]]:
    """Return the packages to configure, those to remove, and the versions of those to install again.

    The latter two were interrupted before they were unpacked (H in dpkg-query(1)).
    """
    states = run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version} ${Package}\\n"])
    rows = [line.split() for line in (states.out.splitlines() if states.ok else ())]
    rows = [row for row in rows if row[0][1:2] in INTERRUPTED]
    halves = [row for row in rows if row[0][1:3] in ("H", "HR", "UR", "FR")]
    removals = [row[-1] for row in halves if row[0][0] in REMOVED]
    return (
        [row[-1] for row in rows if row not in halves],
        removals,
        {row[-1]: row[1] for row in halves if row[-1] not in removals},
    )


def refresh() -> None:
    """Run `apt-get update`; wait up to LOCKED_S for another apt's lock, which apt-get itself does not.

    Raises:
        ChangeError: it failed for another reason, or still has no lock.
    """
    end = time.monotonic() + LOCKED_S
    while True:
        result = run(["apt-get", "update"], INSTALL_S)
        if result.code == 0:
            return
        if "Could not get lock" not in result.out or time.monotonic() > end:
            must(["apt-get", "update"], INSTALL_S)
            return
        time.sleep(1)
